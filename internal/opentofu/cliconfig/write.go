package cliconfig

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// MirrorBlock returns a provider_installation block. The block installs matching
// providers from a template's repositories, and every other provider directly. Without
// patterns, it matches every provider that the template distinguishes.
func MirrorBlock(t template.Template, patterns []provider.Pattern) (string, error) {
	if t.IsLayout() {
		return "", fmt.Errorf("OpenTofu can install only from registries, not from %s; push the layout to a registry, or pull it into a filesystem_mirror", t.Redacted())
	}
	if !quotable(t.HCL()) {
		return "", fmt.Errorf("the template %s cannot be used in OpenTofu's CLI configuration: its braces must be balanced, including those in quotes", t.Redacted())
	}
	if len(patterns) == 0 {
		all, err := widest(t)
		if err != nil {
			return "", err
		}
		patterns = []provider.Pattern{all}
	}
	for _, p := range patterns {
		if err := CheckTemplate(t, p); err != nil {
			return "", err
		}
	}
	if missing, _ := uncovered(t, patterns); len(missing) > 0 {
		return "", fmt.Errorf("the template %s does not contain ${%s}, but the patterns differ in that part; add the variable, or write a separate block for each pattern", t.Redacted(), missing[0])
	}
	if err := checkExample(t); err != nil {
		return "", fmt.Errorf("OpenTofu would reject the template: %w", err)
	}
	return fmt.Sprintf(`provider_installation {
%s  direct {
    exclude = %s
  }
}
`, MirrorMethod(Method{Template: t, Include: patterns}), listOf(patterns)), nil
}

// MirrorMethod returns a method's oci_mirror block, indented for use in a
// provider_installation block.
func MirrorMethod(m Method) string {
	block := "  oci_mirror {\n    repository_template = " + quote(m.Template.HCL()) + "\n"
	if len(m.Include) > 0 {
		block += "    include             = " + listOf(m.Include) + "\n"
	}
	if len(m.Exclude) > 0 {
		block += "    exclude             = " + listOf(m.Exclude) + "\n"
	}
	return block + "  }\n"
}

// listOf formats patterns as a list.
func listOf(patterns []provider.Pattern) string {
	var names []string
	for _, p := range patterns {
		names = append(names, quote(p.String()))
	}
	return "[" + strings.Join(names, ", ") + "]"
}

// CheckTemplate returns an error if the template omits a part of the address that the
// pattern leaves open. With such a template, different providers would have the same
// repository. OpenTofu also rejects such a template.
func CheckTemplate(t template.Template, p provider.Pattern) error {
	if missing, _ := uncovered(t, []provider.Pattern{p}); len(missing) > 0 {
		return fmt.Errorf("the template %s does not contain ${%s}, but the pattern %s has a wildcard for this part; add the variable, or use patterns without wildcards, such as hashicorp/aws", t.Redacted(), missing[0], p)
	}
	return nil
}

// widest returns the pattern that matches all providers that a template distinguishes.
func widest(t template.Template) (provider.Pattern, error) {
	host, namespace, typ := t.Uses()
	switch {
	case host && namespace && typ:
		return provider.ParsePattern("*/*/*")
	case namespace && typ:
		return provider.ParsePattern(string(provider.DefaultHost) + "/*/*")
	}
	return provider.Pattern{}, fmt.Errorf("the template %s does not distinguish namespaces and types; specify the providers without wildcards, such as hashicorp/aws", t.Redacted())
}

// quote returns a string in HCL 1 syntax with quotes. It copies the contents of ${…}
// unchanged, including quotes, because OpenTofu later evaluates them with HCL 2.
func quote(s string) string {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	var b strings.Builder
	for {
		text, rest, found := strings.Cut(s, "${")
		b.WriteString(escape.Replace(text))
		if !found {
			return `"` + b.String() + `"`
		}
		end := closing(rest)
		b.WriteString("${" + rest[:end])
		s = rest[end:]
	}
}

// closing returns the offset of an interpolation's end. Like HCL 1, it counts braces.
func closing(s string) int {
	open := 1
	for i, r := range s {
		switch r {
		case '{':
			open++
		case '}':
			open--
		}
		if open == 0 {
			return i + 1
		}
	}
	return len(s)
}

// quotable reports whether HCL 1 can parse the result of quote. HCL 1 also counts
// braces inside quotes.
func quotable(s string) bool {
	var file struct {
		Text string `hcl:"text"`
	}
	return hcl.Decode(&file, "text = "+quote(s)) == nil && file.Text == s
}

// NetworkMirrorBlock returns a provider_installation block. The block installs
// providers that match a pattern from a network mirror, and every other provider
// directly. OpenTofu requires an HTTPS URL with a trailing slash, but
// NetworkMirrorBlock accepts any URL.
func NetworkMirrorBlock(url string, p provider.Pattern) string {
	list := quote(p.String())
	return fmt.Sprintf(`provider_installation {
  network_mirror {
    url     = %s
    include = [%s]
  }
  direct {
    exclude = [%s]
  }
}
`, quote(url), list, list)
}
