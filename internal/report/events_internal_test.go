package report

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/description"
	"github.com/tofu-oci/tofu-oci/internal/explain"
	"github.com/tofu-oci/tofu-oci/internal/outcome"
)

// forms maps the names of events and their parts to types.
var forms = map[string]any{
	"run_started": runStarted{}, "run_planned": runPlanned{}, "item_started": itemStarted{}, "item_finished": itemFinished{},
	"transfer_started": transferStarted{}, "transfer_finished": transferFinished{}, "retry": retried{}, "pause": paused{}, "run_finished": runFinished{},
	"package": PackageItem{}, "documents": DocumentItem{}, "signature": description.Signature{}, "denial": DenialItem{}, "approval": DecisionItem{}, "error": outcome.ErrorItem{},
}

// parts lists the forms that are parts of events.
var parts = []string{"package", "documents", "signature", "denial", "approval", "error"}

// schemaOf is the part of docs/schema/v2/events.schema.json that the tests use.
type schemaOf struct {
	OneOf []map[string]string `json:"oneOf"`
	Defs  map[string]struct {
		Required   []string
		Enum       []any
		Properties map[string]any
	} `json:"$defs"`
}

func readSchema(t *testing.T) schemaOf {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", "schema", "v2", "events.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var s schemaOf
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestEventsSchema checks that the schema contains exactly the fields of each event.
// The schema must require the fields that are always written.
func TestEventsSchema(t *testing.T) {
	t.Parallel()
	schema := readSchema(t)
	for name, form := range forms {
		all, always := fieldsOf(reflect.TypeOf(form))
		def := schema.Defs[name]
		if diff := cmp.Diff(all, slices.Sorted(maps.Keys(def.Properties))); diff != "" {
			t.Errorf("%s (-program +schema)\n%s", name, diff)
		}
		if diff := cmp.Diff(always, slices.Sorted(slices.Values(def.Required))); diff != "" {
			t.Errorf("%s is required to have (-program +schema)\n%s", name, diff)
		}
	}
	listed := schema.Defs["error"].Properties["class"].(map[string]any)["enum"].([]any)
	sameSet(t, "classes", kinds, listed)
	sameSet(t, "statuses", statuses, schema.Defs["status"].Enum)
	var events []any
	for _, one := range schema.OneOf {
		events = append(events, strings.TrimPrefix(one["$ref"], "#/$defs/"))
	}
	sameSet(t, "events", slices.DeleteFunc(slices.Collect(maps.Keys(forms)), func(s string) bool { return slices.Contains(parts, s) }), events)
}

func sameSet(t *testing.T, what string, program []string, schema []any) {
	t.Helper()
	var listed []string
	for _, v := range schema {
		listed = append(listed, v.(string))
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(program)), slices.Sorted(slices.Values(listed))); diff != "" {
		t.Errorf("%s (-program +schema)\n%s", what, diff)
	}
}

var (
	eventRow = regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| [^|`]*(?:`[a-z_]+`[^|`]*)?\\| (`.*) \\|$")
	fieldRow = regexp.MustCompile("(?m)^\\| (`[a-z_`, ]+`) \\|")
	classRow = regexp.MustCompile("(?m)^\\| `([a-z]+)` \\| (\\d+) \\|")
	codeSpan = regexp.MustCompile("`([a-z_0-9]+)`")
)

// TestReferencePage compares the tables in the documentation with the fields of events and
// the exit codes.
func TestReferencePage(t *testing.T) {
	t.Parallel()
	events, classes := pageSection(t, "output.md", "\n## Events\n"), pageSection(t, "errors.md", "\n## Error classes\n")
	documented := map[string][]string{}
	for _, row := range eventRow.FindAllStringSubmatch(events, -1) {
		fields := []string{"event", "time"}
		for _, span := range codeSpan.FindAllStringSubmatch(row[2], -1) {
			fields = append(fields, span[1])
		}
		slices.Sort(fields)
		documented[row[1]] = fields
	}
	explained := map[string]bool{}
	for _, row := range fieldRow.FindAllStringSubmatch(events, -1) {
		for _, span := range codeSpan.FindAllStringSubmatch(row[1], -1) {
			explained[span[1]] = true
		}
	}
	written := map[string][]string{}
	for name, form := range forms {
		if slices.Contains(parts, name) {
			continue
		}
		written[name], _ = fieldsOf(reflect.TypeOf(form))
		for _, field := range written[name] {
			// The section about output describes the fields of items.
			if !explained[field] && name != "item_finished" && field != "event" {
				t.Errorf("the page does not say what %s is", field)
			}
		}
	}
	if diff := cmp.Diff(written, documented); diff != "" {
		t.Errorf("events and their fields (-program +page)\n%s", diff)
	}
	codes, want := map[string]int{}, map[string]int{}
	for kind, code := range explain.ExitCodes {
		want[string(kind)] = code
	}
	for _, row := range classRow.FindAllStringSubmatch(classes, -1) {
		code, err := strconv.Atoi(row[2])
		if err != nil {
			t.Error(err)
		}
		codes[row[1]] = code
	}
	if diff := cmp.Diff(want, codes); diff != "" {
		t.Errorf("classes and exit codes (-program +page)\n%s", diff)
	}
}

// pageSection returns the text of a page from a heading to the next heading.
func pageSection(t *testing.T, page, heading string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(strings.ReplaceAll(string(text), "\r\n", "\n"), heading)
	if !found {
		t.Fatalf("docs/%s has no heading %q", page, heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	return section
}

// fieldsOf returns the JSON names of a struct's fields, sorted. always contains the
// names of fields that are always written.
func fieldsOf(of reflect.Type) (all, always []string) {
	for _, f := range reflect.VisibleFields(of) {
		if f.Anonymous || !f.IsExported() {
			continue
		}
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		all = append(all, name)
		if option == "" {
			always = append(always, name)
		}
	}
	slices.Sort(all)
	slices.Sort(always)
	return all, always
}
