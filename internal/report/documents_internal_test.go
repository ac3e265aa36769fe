package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/bundle"
	"github.com/tofu-oci/tofu-oci/internal/doctor"
	"github.com/tofu-oci/tofu-oci/internal/explain"
	"github.com/tofu-oci/tofu-oci/internal/finding"
	"github.com/tofu-oci/tofu-oci/internal/outcome"
	"github.com/tofu-oci/tofu-oci/internal/serve/api"
	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
)

// documents maps the name of each schema to the document's type and commands.
var documents = map[string]struct {
	form any
	of   string
}{
	"results":          {document[Item, runSummary]{}, "mirror, publish, pull, copy, promote, deny, module mirror, module pull, bundle create, bundle import, and trust init"},
	"error":            {document[none, errorSummary]{}, "any command that fails without results"},
	"module":           {document[ModuleItem, none]{}, "module push"},
	"list-providers":   {document[providerItem, repositorySummary]{}, "list without PROVIDER"},
	"list-modules":     {document[moduleItem, repositorySummary]{}, "module list without MODULE"},
	"list-versions":    {document[versionItem, none]{}, "list PROVIDER"},
	"list-release":     {document[releaseItem, none]{}, "list PROVIDER@VERSION"},
	"list-history":     {document[DecisionItem, none]{}, "list PROVIDER@VERSION --history, and gate run"},
	"list-pending":     {document[PendingItem, repositorySummary]{}, "list --pending"},
	"bundle":           {document[BundleItem, bundleSummary]{}, "bundle inspect"},
	"bundle-manifest":  {bundle.Manifest{}, "the file bundle.json in each part of a bundle"},
	"bundle-inventory": {bundle.Inventory{}, "bundle inventory, and bundle import --inventory"},
	"bundle-verify":    {document[finding.Finding, findingCounts]{}, "bundle verify"},
	"verify":           {document[verifiedItem, verifySummary]{}, "verify"},
	"lock":             {document[lockedFile, lockSummary]{}, "lock"},
	"lock-check":       {document[lockCheckItem, lockCheckSummary]{}, "lock --check"},
	"doctor":           {document[doctor.Report, findingCounts]{}, "doctor"},
	"cache":            {document[cacheDescription, none]{}, "cache info"},
	"cache-prune":      {document[cachedItem, pruneSummary]{}, "cache prune"},
	"sync":             {document[outcome.Item, outcome.Summary]{}, "sync plan, sync apply, and sync report"},
	"sync-validate":    {document[declaredItem, declaredSummary]{}, "sync validate"},
	"version":          {document[Build, none]{}, "version"},
	"login":            {document[LoggedIn, none]{}, "login"},
	"logout":           {document[loggedOut, none]{}, "logout"},
}

// patterns maps field names to the patterns of their strings.
var patterns = map[string]string{
	"digest": "^sha256:[0-9a-f]{64}$", "source_digest": "^sha256:[0-9a-f]{64}$", "zip": "^sha256:[0-9a-f]{64}$", "h1": "^h1:",
	"published": datePattern, "eligible": datePattern, "date": datePattern, "from": "^sha256:[0-9a-f]{64}$", "trust": "^sha256:[0-9a-f]{64}$", "last_used": datePattern, "oldest_use": datePattern, "time": datePattern, "expires": datePattern, "index": "^sha256:[0-9a-f]{64}$", "newest_use": datePattern,
}

const datePattern = `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$`

var update = flag.Bool("update", false, "write docs/schema again")

// kinds contains the kinds of errors.
var kinds = func() (all []string) {
	for kind := range explain.ExitCodes {
		all = append(all, string(kind))
	}
	slices.Sort(all)
	return all
}()

// TestDocuments compares the schemas in docs/schema with the Go types. With -update, it
// writes the schemas. The scripts of cmd/tofu-oci validate their documents.
func TestDocuments(t *testing.T) {
	t.Parallel()
	for name, document := range documents {
		path := filepath.Join("..", "..", "docs", "schema", "v2", name+".schema.json")
		var want bytes.Buffer
		encoder := json.NewEncoder(&want)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(schemaFor(name, document.form, document.of)); err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := os.WriteFile(path, want.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
			continue
		}
		if diff := cmp.Diff(want.String(), strings.ReplaceAll(string(got), "\r\n", "\n")); diff != "" {
			t.Errorf("%s is stale: make docs writes it again (-want +got)\n%s", path, diff)
		}
	}
}

// schemaFor returns a document's schema.
func schemaFor(name string, form any, of string) map[string]any {
	parts := map[string]any{}
	whole := objectSchema(reflect.TypeOf(form), parts)
	properties := whole["properties"].(map[string]any)
	properties["$schema"] = map[string]any{"const": schemas + name + ".schema.json"}
	whole["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	whole["$id"] = schemas + name + ".schema.json"
	if whole["title"] = "The output of tofu-oci with --output json: " + of; !strings.HasPrefix(reflect.TypeOf(form).Name(), "document[") {
		whole["title"] = "tofu-oci: " + of
	}
	whole["description"] = "The document that this version of tofu-oci prints. Ignore unknown fields, because later versions can add fields. docs/output.md describes the fields."
	if len(parts) > 0 {
		whole["$defs"] = parts
	}
	return whole
}

// objectSchema returns a struct's schema. It adds the schemas of nested structs to
// parts.
func objectSchema(of reflect.Type, parts map[string]any) map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, f := range reflect.VisibleFields(of) {
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" || name == "-" || !f.IsExported() {
			continue
		}
		properties[name] = valueSchema(of, name, f.Type, parts)
		if option == "" {
			required = append(required, name)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

func valueSchema(in reflect.Type, name string, of reflect.Type, parts map[string]any) any {
	if values := enums(in, name); values != nil {
		return map[string]any{"enum": values}
	}
	switch of.Kind() {
	case reflect.Pointer:
		return valueSchema(in, name, of.Elem(), parts)
	case reflect.Slice:
		return map[string]any{"type": "array", "items": valueSchema(in, "", of.Elem(), parts)}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": valueSchema(in, "", of.Elem(), parts)}
	case reflect.Struct:
		if of == reflect.TypeFor[time.Time]() {
			return map[string]any{"type": "string", "format": "date-time"}
		}
		part := strings.ToLower(of.Name()[:1]) + of.Name()[1:]
		if _, known := parts[part]; !known {
			parts[part] = nil // the struct can contain itself
			parts[part] = objectSchema(of, parts)
		}
		return map[string]any{"$ref": "#/$defs/" + part}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return map[string]any{"type": "integer", "minimum": 0}
	}
	text := map[string]any{"type": "string"}
	if of == reflect.TypeFor[lockfile.Hash]() {
		text["pattern"] = "^[a-z0-9]+:"
	}
	_, isBundle := in.FieldByName("Identity") // contains the trust file instead of its digest
	if pattern, known := patterns[name]; known && !isBundle {
		text["pattern"] = pattern
	}
	return text
}

// enums returns a field's values, or nil if any value is allowed.
func enums(in reflect.Type, field string) []string {
	switch strings.ToLower(in.Name()[:1]) + in.Name()[1:] + "." + field {
	case "item.status":
		if in == reflect.TypeFor[outcome.Item]() {
			return append(slices.Clone(statuses), outcome.StatusPlanned)
		}
		return append(slices.Clone(statuses), statusChecked)
	case "item.action":
		return outcome.Actions()
	case "item.staged":
		return []string{stagedPending, stagedReleased}
	case "pendingItem.status":
		return []string{string(publish.Pending), string(publish.Denied), string(approval.Pruned), string(publish.Promoted)}
	case "versionItem.status", "releaseItem.status":
		return []string{api.StatusComplete, api.StatusIncomplete, api.StatusBroken, api.StatusUnknown, api.StatusPending}
	case "packageItem.action":
		return []string{"pushed", "mounted", "present", "pulled", "kept"}
	case "finding.severity":
		return []string{string(finding.Error), string(finding.Warning), string(finding.Note)}
	case "lockedFile.status":
		return []string{"written", "planned", "unchanged", "failed"}
	case "errorItem.class", "problem.class":
		return kinds
	}
	return nil
}
