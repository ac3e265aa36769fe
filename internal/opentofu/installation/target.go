package installation

import (
	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// exampleTemplate is the template in the example block. The domain example.com is
// reserved for examples.
const exampleTemplate = "registry.example.com/providers/${namespace}/${type}"

// Target returns a provider's repository and the first matching oci_mirror, which
// specifies this repository. The possible errors are *[NoMirrorError] and
// *[template.ReferenceError].
func (i *Installation) Target(a provider.Address) (template.Reference, cliconfig.Method, error) {
	for _, m := range i.methods {
		if ok, _ := m.Match(a); ok && m.Kind == cliconfig.OCIMirror {
			ref, err := m.Template.Repository(a)
			return ref, m.Method, err
		}
	}
	missing := &NoMirrorError{Address: a}
	if i.block != nil {
		missing.Position = i.block.Position
	}
	t, err := template.Parse(exampleTemplate)
	if err != nil {
		return template.Reference{}, cliconfig.Method{}, err
	}
	all, err := provider.ParsePattern(a.Host.ForDisplay() + "/*/*")
	if err != nil {
		return template.Reference{}, cliconfig.Method{}, err
	}
	if missing.Block, err = cliconfig.MirrorBlock(t, []provider.Pattern{all}); err != nil {
		return template.Reference{}, cliconfig.Method{}, err
	}
	return template.Reference{}, cliconfig.Method{}, missing
}

// overridden returns the method for a dev_overrides entry.
func overridden(o cliconfig.DevOverride) cliconfig.Method {
	return cliconfig.Method{Kind: cliconfig.DevOverrides, Path: o.Path, Position: o.Position}
}

// Step reports whether a method matches a provider and explains why.
type Step struct {
	Method cliconfig.Method
	// Matches reports whether the method is used.
	Matches bool
	// Pattern is the decisive include or exclude pattern, or the zero value if no pattern
	// matches.
	Pattern provider.Pattern
	// Unless reports whether the method is used only for providers that no preceding
	// filesystem_mirror has. For example, this applies to direct if the configuration
	// has no provider_installation block.
	Unless bool
}

// Explain returns a step for each method in order. If the provider has a dev_overrides
// entry, the first step describes the entry. Explain sends no requests.
func (i *Installation) Explain(a provider.Address) []Step {
	var steps []Step
	if i.block != nil {
		if override, found := i.block.DevOverrides[a]; found {
			steps = append(steps, Step{Method: overridden(override), Matches: true})
		}
	}
	for _, m := range i.methods {
		ok, pattern := m.Match(a)
		steps = append(steps, Step{Method: m.Method, Matches: ok, Pattern: pattern, Unless: len(m.unless) > 0})
	}
	return steps
}
