package template_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

func address(t *testing.T, s string) provider.Address {
	t.Helper()
	a, err := provider.ParseAddress(s)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestRepository(t *testing.T) {
	t.Parallel()
	const plain, port, idn = "example.com/acme/widget", "localhost:8080/acme/widget", "bücher.example/acme/widget"
	tests := map[string]struct{ template, address, want string }{
		"HCL":              {"ghcr.io/x/${namespace}/${type}", plain, "ghcr.io/x/acme/widget"},
		"braces":           {"ghcr.io/x/{namespace}/{type}", plain, "ghcr.io/x/acme/widget"},
		"constant":         {"ghcr.io/x/y", plain, "ghcr.io/x/y"},
		"all, HCL":         {"r.example/${hostname}/${namespace}-${type}", plain, "r.example/example.com/acme-widget"},
		"all, braces":      {"r.example/{hostname}/{namespace}-{type}", plain, "r.example/example.com/acme-widget"},
		"Punycode":         {"r.example/{hostname}/{type}", idn, "r.example/xn--bcher-kva.example/widget"},
		"registry's port":  {"r.example:5000/{type}", plain, "r.example:5000/widget"},
		"IPv4":             {"127.0.0.1:5000/{type}", plain, "127.0.0.1:5000/widget"},
		"IPv6":             {"[::1]:5000/{type}", plain, "[::1]:5000/widget"},
		"no dot":           {"registry/{type}", plain, "registry/widget"},
		"underscore":       {"my_registry:5000/{type}", plain, "my_registry:5000/widget"},
		"upper-case host":  {"GHCR.io/{type}", plain, "GHCR.io/widget"},
		"host in registry": {"${hostname}/${namespace}/${type}", port, "localhost:8080/acme/widget"},
		"part of registry": {"123.dkr.ecr.${namespace}.amazonaws.com/${type}", plain, "123.dkr.ecr.acme.amazonaws.com/widget"},
		"brace in host":    {"{namespace}.azurecr.io/{type}", plain, "acme.azurecr.io/widget"},
		"conditional":      {`r.example/${hostname == "example.com" ? "ours" : "theirs"}/${type}`, plain, "r.example/ours/widget"},
		"directive":        {`r.example/%{ if namespace == "acme" }a%{ else }b%{ endif }/${type}`, plain, "r.example/a/widget"},
		"loop":             {`r.example%{ for x in [namespace, type] }/${x}%{ endfor }`, plain, "r.example/acme/widget"},
		"literal":          {`r.example/${"acme"}/${type}`, plain, "r.example/acme/widget"},
		"number":           {`r.example/${1 + 1}/${type}`, plain, "r.example/2/widget"},
		"one expression":   {`${"r.example/${type}"}`, plain, "r.example/widget"},
		"trimmed":          {"r.example/ ${~ type ~} ", plain, "r.example/widget"},
		"expression lines": {"r.example/${\n type\n}", plain, "r.example/widget"},
		"separators":       {"r.example/a.b/a_b/a__b/a---b/{type}", plain, "r.example/a.b/a_b/a__b/a---b/widget"},

		"layout":              {"oci-layout:mirror/{namespace}/{type}", plain, "oci-layout:mirror/acme/widget"},
		"layout, HCL":         {"oci-layout:mirror/${namespace}/${type}", plain, "oci-layout:mirror/acme/widget"},
		"layout, constant":    {"oci-layout:/srv/mirror", plain, "oci-layout:/srv/mirror"},
		"layout, Windows":     {`oci-layout:C:\mirror\{namespace}\{type}`, plain, `oci-layout:C:\mirror\acme\widget`},
		"layout, Windows HCL": {`oci-layout:C:\mirror\${namespace}\new`, plain, `oci-layout:C:\mirror\acme\new`},
		"layout, port":        {"oci-layout:m/{hostname}/{type}", port, "oci-layout:m/localhost_8080/widget"},
		"layout, port HCL":    {"oci-layout:m/${hostname}/${type}", port, "oci-layout:m/localhost_8080/widget"},
		"layout, any text":    {"oci-layout:./My Mirror/Größe:1/{type}", plain, "oci-layout:./My Mirror/Größe:1/widget"},
		"layout, letters":     {"oci-layout:m/{namespace}", "example.com/bücher/widget", "oci-layout:m/bücher"},
		"layout, escape":      {"oci-layout:$${type}/%%{type}/${type}", plain, "oci-layout:${type}/%{type}/widget"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parsed, err := template.Parse(test.template)
			if err != nil {
				t.Fatal(err)
			}
			if parsed.String() != test.template {
				t.Errorf("String = %q", parsed)
			}
			ref, err := parsed.Repository(address(t, test.address))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, ref.String()); diff != "" {
				t.Error("-want +got:\n" + diff)
			}
			isLayout := strings.HasPrefix(test.template, "oci-layout:")
			if ref.IsLayout() != isLayout || parsed.IsLayout() != isLayout {
				t.Errorf("IsLayout = %t, %t", ref.IsLayout(), parsed.IsLayout())
			}
			if again, err := template.ParseReference(ref.String()); again != ref || err != nil {
				t.Errorf("ParseReference = %#v, %v, not %#v", again, err, ref)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	const names = "available variables: hostname, namespace, type"
	tests := map[string]struct {
		text    string
		offset  int
		problem string // part of the message
	}{
		"empty":                {"", 0, "is empty"},
		"no path":              {"oci-layout:", 11, "no path"},
		"scheme":               {"https://r.example/{type}", 0, "remove https://"},
		"oci scheme":           {"oci://r.example/{type}", 0, "remove oci://"},
		"layout as a URL":      {"oci-layout://m/{type}", 11, "without //"},
		"layout with a scheme": {"oci-layout:file:///m/{type}", 11, "followed by a path"},
		"regclient's layout":   {"ocidir://m/{type}", 0, "an image layout must have the form oci-layout:PATH"},
		"skopeo's layout":      {"oci:m/{type}", 0, "an image layout must have the form oci-layout:PATH"},
		"upper-case layout":    {"OCI-Layout:m/{type}", 0, "an image layout must have the form oci-layout:PATH"},
		"unknown, HCL":         {"r.example/${namespace}/${HOME}", 25, `"HOME"; ` + names},
		"unknown, braces":      {"r.example/{namespace}/{name}", 22, `"name"; ` + names},
		"unknown in layout":    {"oci-layout:m/{name}", 13, `"name"; ` + names},
		"unknown, HCL, layout": {"oci-layout:m/${name}", 15, `"name"; ` + names},
		"upper-case variable":  {"r.example/{Type}", 10, names},
		"blanks in braces":     {"r.example/{ type }", 10, names},
		"URI template":         {"r.example/{+type}", 10, names},
		"empty braces":         {"r.example/{}", 10, names},
		"mixed":                {"r.example/${namespace}/{type}", 23, "cannot be mixed"},
		"mixed at the start":   {"{hostname}/${namespace}", 0, "cannot be mixed"},
		"mixed, layout":        {"oci-layout:{type}/${namespace}", 11, "cannot be mixed"},
		"not closed":           {"r.example/{type", 10, "not closed"},
		"brace in brace":       {"r.example/{ty{type}", 10, "not closed"},
		"not opened":           {"r.example/type}", 14, "without an opening"},
		"HCL not closed":       {"r.example/${type", 10, "not closed"},
		"HCL empty":            {"r.example/${}", 12, "expression"},
		"function":             {"r.example/${upper(type)}", 12, "functions may not be called"},
		"attribute":            {"r.example/${type.name}", 16, "attributes"},
		"no text":              {"${[type]}", 0, "does not evaluate to a string"},
		"directive not closed": {"r.example/%{ if true }a", 23, "if"},
		"no directive":         {"r.example/%{ type }", 13, "type"},
		"not UTF-8":            {"r.example/\xff", 0, "UTF-8"},
		"HCL not UTF-8":        {"r.example/\xff${type}", 10, "UTF-8"},
		"too long":             {"r.example/" + strings.Repeat("a/", 3000), 4096, "too long"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := template.Parse(test.text)
			var syntax *provider.SyntaxError
			if !errors.As(err, &syntax) {
				t.Fatalf("%q, %v", got, err)
			}
			if !strings.Contains(syntax.Problem, test.problem) {
				t.Errorf("problem %q, want %q", syntax.Problem, test.problem)
			}
			if syntax.Offset != test.offset || syntax.Input != test.text || syntax.What != "repository template" {
				t.Errorf("offset %d, want %d:\n%s", syntax.Offset, test.offset, syntax.Pointer())
			}
			if got != (template.Template{}) {
				t.Errorf("got template %q with an error", got)
			}
		})
	}
}

func TestRepositoryErrors(t *testing.T) {
	t.Parallel()
	const plain, port, letters = "example.com/acme/widget", "localhost:8080/acme/widget", "example.com/bücher/größe"
	tests := map[string]struct{ template, address, component, problem string }{
		"scheme":            {`${"https"}://r.example/${type}`, plain, "https://", "remove https://"},
		"no name":           {"r.example", plain, "r.example", "a slash"},
		"empty name":        {"r.example/", plain, "", "end with a slash"},
		"empty component":   {"r.example//{type}", plain, "", "consecutive slashes"},
		"final slash":       {"r.example/{type}/", plain, "", "end with a slash"},
		"no registry":       {"/srv/{type}", plain, "", "oci-layout:PATH"},
		"relative path":     {"./{type}", plain, ".", "oci-layout:PATH"},
		"port in name":      {"r.example/{hostname}/{type}", port, "localhost:8080", "hostname localhost:8080 has a port"},
		"namespace":         {"r.example/{namespace}/x", letters, "bücher", `namespace "bücher" contains non-ASCII characters`},
		"type":              {"r.example/p-{type}", letters, "p-größe", `type "größe" contains non-ASCII characters`},
		"both":              {"r.example/{namespace}-{type}", letters, "bücher-größe", `namespace "bücher"`},
		"own letters":       {"r.example/straße/{type}", letters, "straße", "must not contain non-ASCII characters"},
		"letters in host":   {"{namespace}.example/x", letters, "bücher.example", "Punycode"},
		"upper case":        {"r.example/Acme/{type}", plain, "Acme", "upper-case"},
		"tag":               {"r.example/{type}:latest", plain, "widget:latest", "omit the tag"},
		"digest":            {"r.example/{type}@sha256:00", plain, "widget@sha256:00", "omit the digest"},
		"dash in front":     {"r.example/-{type}", plain, "-widget", "single separators"},
		"two dots":          {"r.example/../{type}", plain, "..", "single separators"},
		"three underscores": {"r.example/a___{type}", plain, "a___widget", "single separators"},
		"blank":             {"r.example/a b/{type}", plain, "a b", "single separators"},
		"line end":          {"r.example/${type}\n", plain, "widget\n", "single separators"},
		"port's letters":    {"r.example:http/{type}", plain, "r.example:http", "want a number"},
		"no port":           {"r.example:/{type}", plain, "r.example:", "want a number"},
		"large port":        {"r.example:65536/{type}", plain, "r.example:65536", "want a number"},
		"user":              {"me@r.example/{type}", plain, "me@r.example", "invalid registry host"},
		"empty label":       {"r..example/{type}", plain, "r..example", "invalid registry host"},
		"IPv6 bare":         {"::1/{type}", plain, "::1", "invalid registry host"},
		"IPv6 zone":         {"[fe80::1%25eth0]/{type}", plain, "[fe80::1%25eth0]", "IPv6"},
		"IPv6 open":         {"[::1/{type}", plain, "[::1", "IPv6"},
		"long":              {"r.example/" + strings.Repeat("a", 249) + "/{type}", plain, strings.Repeat("a", 249) + "/widget", "256 characters"},
		"null":              {"${null}", plain, "", "null"},
		"evaluation":        {`r.example/${[type][hostname == "example.com" ? 1 : 0]}`, plain, "", "index"},
		"made layout":       {`${"oci-layout:"}${namespace}`, plain, "oci-layout:", "start of the template"},
		"empty layout":      {`oci-layout:${""}`, plain, "", "path is empty"},
		"layout, two lines": {"oci-layout:m\n/{type}", plain, "", "control character"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parsed, err := template.Parse(test.template)
			if err != nil {
				t.Fatal(err)
			}
			a := address(t, test.address)
			ref, err := parsed.Repository(a)
			var bad *template.ReferenceError
			if !errors.As(err, &bad) || ref != (template.Reference{}) {
				t.Fatalf("%#v, %v", ref, err)
			}
			if bad.Template != test.template || bad.Address != a || bad.Component != test.component || !strings.Contains(bad.Problem, test.problem) {
				t.Errorf("component %q, problem %q", bad.Component, bad.Problem)
			}
		})
	}
}

func TestZeroTemplate(t *testing.T) {
	t.Parallel()
	if ref, err := (template.Template{}).Repository(address(t, "acme/widget")); err == nil {
		t.Errorf("%#v", ref)
	}
}

func TestUses(t *testing.T) {
	t.Parallel()
	type uses struct{ Hostname, Namespace, Type bool }
	for text, want := range map[string]uses{
		"r.example/x":                                {},
		"r.example/{hostname}":                       {Hostname: true},
		"r.example/${hostname}":                      {Hostname: true},
		"r.example/{namespace}/{type}":               {Namespace: true, Type: true},
		"oci-layout:{namespace}":                     {Namespace: true},
		`r.example/${namespace == "a" ? type : "b"}`: {Namespace: true, Type: true},
		"oci-layout:$${type}":                        {},
		// A loop variable hides the template variable.
		`r.example%{ for type in ["a"] }/${type}%{ endfor }`: {},
	} {
		parsed, err := template.Parse(text)
		if err != nil {
			t.Error(err)
			continue
		}
		var got uses
		got.Hostname, got.Namespace, got.Type = parsed.Uses()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", text, diff)
		}
	}
}

func TestTemplateComparable(t *testing.T) {
	t.Parallel()
	var parsed [2]template.Template
	for i := range parsed {
		var err error
		if parsed[i], err = template.Parse("r.example/${namespace}/${type}"); err != nil {
			t.Fatal(err)
		}
	}
	if parsed[0] != parsed[1] {
		t.Error("templates of one text are not equal")
	}
}
