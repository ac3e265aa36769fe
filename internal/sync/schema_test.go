package sync_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/tofu-oci/tofu-oci/internal/sync"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// object is a JSON object.
type object = map[string]any

// generator generates declarations.
type generator struct{ *rand.Rand }

// some returns one of the values.
func some[T any](g generator, values ...T) T { return values[g.IntN(len(values))] }

// subset returns an object with a random subset of the keys.
func (g generator) subset(of object, required ...string) object {
	all := object{}
	for _, key := range slices.Sorted(maps.Keys(of)) {
		if slices.Contains(required, key) || g.IntN(2) == 0 {
			all[key] = of[key]
		}
	}
	return all
}

// gate returns a gate block.
func (g generator) gate() object {
	return g.subset(object{
		"command": some[any](g, []any{"scan"}, []any{"sh", "scan.sh", "sh", "{binary}"}), "timeout": some(g, "90s", "1h"), "on": []any{"mirror", "module"},
		"needs": []any{"zip", "sbom", "attestations"}, "platforms": []any{"linux_amd64"}, "env": []any{"SCAN_DB"},
	}, "command")
}

// document returns a valid declaration.
func (g generator) document() object {
	targets := object{"main": g.subset(object{"repository": "ghcr.io/acme/{namespace}/{type}", "modules": "ghcr.io/acme/modules/{namespace}/{name}/{system}"}, "repository")}
	if g.IntN(2) == 0 {
		targets["dr"] = g.subset(object{"repository": `${env("TOFU_OCI_SYNC_DR")}/{type}`, "modules": `${env("TOFU_OCI_SYNC_DR")}/{name}/{system}`, "from": "main"}, "repository")
	}
	denial := func() object {
		return g.subset(object{"versions": some[any](g, "1.0.0", []any{"< 1.0", "2.0.0"}), "reason": "a \"reason\"", "by": "security"}, "versions", "reason")
	}
	return g.subset(object{
		"$schema": "https://schema.example", "//": some[any](g, "a comment", []any{object{}}),
		"version": 1, "trust": "trust.hcl", "sources": []any{"a.txt", "b.txt"}, "lock_files": []any{"live/**/.terraform.lock.hcl"}, "terraform": g.IntN(2) == 0, "roots": []any{"live/*", "app"},
		"target": targets, "defaults": g.settings(targets),
		"provider":    g.subset(object{"hashicorp/aws": g.settings(targets), "hashicorp/*": g.settings(targets), "registry.terraform.io/*/*": g.settings(targets)}, "hashicorp/aws"),
		"module":      g.subset(object{"acme/vpc/aws": g.moduleSettings(targets), "acme/vpc/*": g.moduleSettings(targets), "acme/*/*": g.moduleSettings(targets), "example.com/*/*/*": g.moduleSettings(targets)}, "acme/vpc/aws"),
		"deny_module": g.subset(object{"example.com/acme/vpc/aws": denial(), "*/*/*": denial(), "*/*/*/*": denial()}, "*/*/*"),
		"deny":        g.subset(object{"acme/rocket": denial(), "*/*/*": denial()}, "acme/rocket"),
		"prune":       g.subset(object{"mode": some(g, "report", "delete"), "keep_previous": g.IntN(3), "keep_for": "30d", "max_delete": 1 + g.IntN(3)}),
		"gate":        g.subset(object{"scan": g.gate(), "policy.2": g.gate()}, "scan"),
		"notify":      g.subset(object{"url_env": "WEBHOOK", "format": some(g, "slack", "json")}, "url_env"),
	}, "version", "target")
}

func (g generator) settings(targets object) object {
	return g.subset(object{
		"versions": some(g, "~> 5.0", ">= 1.0, != 1.2.3"), "latest": some[any](g, 0, 1, 10, "all"), "per_minor": some[any](g, 1, 2, "all"),
		"prereleases": g.IntN(2) == 0, "platforms": some[any](g, "all", []any{"linux_amd64", "darwin_arm64"}), "min_age": some(g, "0s", "7d", "1h30m"),
		"signatures": some(g, "require", "warn", "off"), "key_change": some(g, "hold", "warn", "refuse"), "attestations": some(g, "fetch", "require", "off"), "sbom": some(g, "auto", "off"), "stage": g.IntN(2) == 0, "targets": slices.Collect(func(yield func(any) bool) {
			for _, name := range slices.Sorted(maps.Keys(targets)) {
				if !yield(name) {
					return
				}
			}
		}),
		"alias": some(g, []any{}, []any{"hashicorp/*=registry.terraform.io/hashicorp/*"}),
	})
}

func (g generator) moduleSettings(targets object) object {
	s := g.settings(targets)
	for _, name := range []string{"platforms", "signatures", "key_change", "attestations", "sbom", "alias"} {
		delete(s, name)
	}
	return s
}

// mutate changes the structure of a document at a random position.
func (g generator) mutate(document object) {
	key := some(g, slices.Sorted(maps.Keys(document))...)
	inner, isObject := document[key].(object)
	if isObject && len(inner) > 0 && g.IntN(3) > 0 {
		g.mutate(inner)
		return
	}
	switch g.IntN(4) {
	case 0:
		delete(document, key)
	case 1:
		document[key+"x"] = document[key]
		delete(document, key)
	case 2:
		document["unknown"] = object{}
	case 3:
		document[key] = some[any](g, nil, true, -1, 1.5, 2_000_000, "", "${x}", []any{}, []any{""}, []any{1}, []any{object{}}, object{}, object{"x": 1}, []any{document[key]})
	}
}

// reference matches errors that a schema can't detect.
var reference = regexp.MustCompile("unknown target|must also contain|variables are not supported")

func mirrorSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.NewCompiler().Compile(filepath.Join("..", "..", "docs", "schema", "v2", "mirror.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func validate(t *testing.T, s *jsonschema.Schema, text string) error {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(value)
}

// TestSchema checks that the schema and the parser accept the same documents.
func TestSchema(t *testing.T) {
	t.Parallel()
	s := mirrorSchema(t)
	if err := validate(t, s, completeJSON); err != nil {
		t.Error(err)
	}
	g := generator{rand.New(rand.NewPCG(1, 2))}
	accepted, rejected := 0, 0
	for range 4000 {
		document := g.document()
		mutations := g.IntN(3)
		for range mutations {
			if len(document) > 0 {
				g.mutate(document)
			}
		}
		text, err := json.Marshal(document)
		if err != nil {
			t.Fatal(err)
		}
		bySchema := validate(t, s, string(text))
		_, byParser := sync.Parse("mirror.hcl.json", text, variables)
		if byParser != nil && reference.MatchString(byParser.Error()) {
			continue
		}
		if (bySchema == nil) != (byParser == nil) || mutations == 0 && byParser != nil {
			t.Fatalf("%s\nschema: %v\nparser: %v", text, bySchema, byParser)
		}
		if byParser == nil {
			accepted++
		} else {
			rejected++
		}
	}
	if accepted < 1000 || rejected < 1000 {
		t.Errorf("%d documents are accepted and %d rejected", accepted, rejected)
	}
}

// TestSchemaSettings checks that the schema describes the arguments of the parser.
func TestSchemaSettings(t *testing.T) {
	t.Parallel()
	d, err := parse(minimal)
	if err != nil {
		t.Fatal(err)
	}
	s := mirrorSchema(t)
	for address, settings := range map[string]*jsonschema.Schema{
		"hashicorp/null": s.Properties["defaults"].Ref, "registry.opentofu.org/acme/vpc/aws": s.Properties["module"].AdditionalProperties.(*jsonschema.Schema).Ref,
	} {
		var documented, known []string
		for name := range settings.Properties {
			if name != "//" {
				documented = append(documented, name)
			}
		}
		a, err := sync.ParseAddress(address)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range d.Explain(a) {
			known = append(known, s.Name)
		}
		slices.Sort(documented)
		slices.Sort(known)
		if diff := cmp.Diff(known, documented); diff != "" {
			t.Errorf("%s: -parser +schema:\n%s", address, diff)
		}
	}
}

// TestSyntaxesAreEquivalent checks that a declaration has the same meaning in both
// syntaxes.
func TestSyntaxesAreEquivalent(t *testing.T) {
	t.Parallel()
	g := generator{rand.New(rand.NewPCG(3, 4))}
	for range 500 {
		document := g.document()
		text, err := json.Marshal(document)
		if err != nil {
			t.Fatal(err)
		}
		fromJSON, err := parse(string(text))
		if err != nil {
			t.Fatal(err)
		}
		native := nativeSyntax(document)
		fromNative, err := parse(native)
		if err != nil {
			t.Fatalf("%v\n%s", err, native)
		}
		diff := cmp.Diff(fromJSON, fromNative, cmpopts.IgnoreUnexported(sync.Declaration{}), cmpopts.IgnoreFields(sync.Declaration{}, "Path", "Digest"),
			cmpopts.IgnoreFields(sync.Denial{}, "Position"), comparePatterns, compareConstraints, cmpopts.EquateComparable(template.Template{}, template.ModuleTemplate{}))
		for _, address := range []string{"hashicorp/aws", "hashicorp/null", "registry.terraform.io/a/b", "a/b", "registry.opentofu.org/acme/vpc/aws", "example.com/acme/vpc/aws"} {
			a, err := sync.ParseAddress(address)
			if err != nil {
				t.Fatal(err)
			}
			diff += cmp.Diff(fromJSON.Settings(a), fromNative.Settings(a), comparePatterns, compareConstraints)
		}
		if diff != "" {
			t.Fatalf("%s\n%s\n-JSON +native:\n%s", text, native, diff)
		}
	}
}

// nativeSyntax returns a declaration in the native syntax.
func nativeSyntax(document object) string {
	var text strings.Builder
	arguments := func(indent string, all object) {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if _, isBlock := all[name].(object); isBlock || name == "//" || name == "$schema" {
				continue
			}
			fmt.Fprintf(&text, "%s%s = %s\n", indent, name, literal(all[name]))
		}
	}
	arguments("", document)
	for _, kind := range slices.Sorted(maps.Keys(document)) {
		switch inner, _ := document[kind].(object); kind {
		case "target", "provider", "module", "deny", "deny_module", "gate":
			for _, label := range slices.Sorted(maps.Keys(inner)) {
				fmt.Fprintf(&text, "%s %q {\n", kind, label)
				arguments("  ", inner[label].(object))
				text.WriteString("}\n")
			}
		case "defaults", "prune", "notify":
			text.WriteString(kind + " {\n")
			arguments("  ", inner)
			text.WriteString("}\n")
		}
	}
	return text.String()
}

// literal returns a value in the native syntax.
func literal(value any) string {
	switch v := value.(type) {
	case string:
		if strings.HasPrefix(v, "${") {
			return `"` + v + `"`
		}
		return fmt.Sprintf("%q", v)
	case []any:
		var all []string
		for _, element := range v {
			all = append(all, literal(element))
		}
		return "[" + strings.Join(all, ", ") + "]"
	}
	return fmt.Sprint(value)
}
