package installation

import (
	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// exampleTemplate is what an example of a block names; example.com belongs to
// nobody.
const exampleTemplate = "registry.example.com/providers/${namespace}/${type}"

// Target returns the repository to put a provider in: the one that the first
// oci_mirror for it names, and that method. Errors are *[NoMirrorError] and
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

// overridden is the method for an entry of dev_overrides.
func overridden(o cliconfig.DevOverride) cliconfig.Method {
	return cliconfig.Method{Kind: cliconfig.DevOverrides, Path: o.Path, Position: o.Position}
}

// Step says whether a method is for a provider, and why.
type Step struct {
	Method cliconfig.Method
	// Matches tells that the method is asked.
	Matches bool
	// Pattern is the include or exclude pattern that decided; the zero value
	// when none did.
	Pattern provider.Pattern
	// Unless tells that the method is asked only for what no filesystem_mirror
	// before it has, as direct is without a provider_installation block.
	Unless bool
}

// Explain returns a step for each method in their order, led by one for the
// dev_overrides entry of the provider if there is one. Nobody is asked for that.
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
