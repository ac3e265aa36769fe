package sync

import (
	"bytes"
	"cmp"
	_ "embed"
	"slices"
	"strings"
	"text/template"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// exampleRepository is the repository template of a declaration if the repository is
// unknown.
const exampleRepository = "ghcr.io/acme/providers/{namespace}/{type}"

// newDeclaration is the template for new declarations. Lines that start with "# " and a
// lower-case letter or a brace are examples.
//
//go:embed init.hcl.tmpl
var newDeclaration string

// TemplateOptions configures [Template].
type TemplateOptions struct {
	// Wanted contains the providers to select.
	Wanted []provider.Requirement
	// Repository is the repository template of the target, in one of the forms that
	// package template supports. If it is empty, the declaration contains an example.
	Repository string
	// LockFiles contains names or patterns of lock files that select providers.
	LockFiles []string
	// Trust is the name of the trust file. If it is empty, the declaration has no trust
	// file.
	Trust string
}

// Template returns a declaration with comments that explain the arguments.
func Template(o TemplateOptions) []byte {
	type block struct {
		Name     string
		Versions []string
	}
	var providers []block
	wanted := slices.SortedStableFunc(slices.Values(o.Wanted), func(a, b provider.Requirement) int { return a.Address.Compare(b.Address) })
	for _, r := range wanted {
		name := strings.TrimPrefix(r.Address.String(), string(provider.DefaultHost)+"/")
		if len(providers) == 0 || providers[len(providers)-1].Name != name {
			providers = append(providers, block{Name: name})
		}
		last := &providers[len(providers)-1]
		if text := r.Constraint.String(); text != "" && !slices.Contains(last.Versions, text) {
			last.Versions = append(last.Versions, text)
		}
	}
	repository := o.Repository
	for _, name := range []string{"hostname", "namespace", "type"} {
		repository = strings.ReplaceAll(repository, "${"+name+"}", "{"+name+"}")
	}
	parsed := template.Must(template.New("").Funcs(template.FuncMap{"quote": quote}).Parse(newDeclaration))
	var text bytes.Buffer
	if err := parsed.Execute(&text, map[string]any{
		"Providers": providers, "Repository": cmp.Or(repository, exampleRepository), "LockFiles": o.LockFiles, "Trust": o.Trust,
	}); err != nil {
		panic(err) // the template is invalid
	}
	return text.Bytes()
}

// quote returns an HCL string literal.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "${", "$${", "%{", "%%{").Replace(s) + `"`
}
