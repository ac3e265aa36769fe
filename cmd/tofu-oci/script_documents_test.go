package main_test

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/urfave/cli/v2"

	main "github.com/tofu-oci/tofu-oci/cmd/tofu-oci"
	"github.com/tofu-oci/tofu-oci/internal/commandline"
)

// documentSchema returns the schema with the given URL from docs/schema/v2.
var documentSchema = func() func(url string) (*jsonschema.Schema, error) {
	var mu sync.Mutex
	known := map[string]*jsonschema.Schema{}
	return func(url string) (*jsonschema.Schema, error) {
		mu.Lock()
		defer mu.Unlock()
		if s := known[url]; s != nil {
			return s, nil
		}
		s, err := jsonschema.NewCompiler().Compile(filepath.Join("..", "..", "docs", "schema", "v2", filepath.Base(url)))
		if err == nil {
			known[url] = s
		}
		return s, err
	}
}()

// asksJSON reports whether a run prints a document.
func asksJSON(args []string) bool {
	i := slices.IndexFunc(args, func(arg string) bool { return arg == "--output" || arg == "-o" })
	return i >= 0 && i+1 < len(args) && args[i+1] == "json" || slices.Contains(args, "--output=json")
}

// TestDocumentsOfCommands checks that, for every command that can print JSON, a script
// runs the command with --output json. TestScripts validates the documents of these
// runs.
func TestDocumentsOfCommands(t *testing.T) {
	t.Parallel()
	scripts, err := filepath.Glob(filepath.Join("testdata", "script", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	var runs [][]string
	for _, name := range scripts {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if words := strings.Fields(line); asksJSON(words) {
				runs = append(runs, words)
			}
		}
	}
	var check func(commands []*cli.Command, path []string)
	check = func(commands []*cli.Command, path []string) {
		for _, c := range commands {
			path := append(slices.Clone(path), c.Name)
			check(c.Subcommands, path)
			if c.Action == nil || commandline.FlagNamed(c, "output") == nil || c.Name == "serve" { // serve prints a log
				continue
			}
			if !slices.ContainsFunc(runs, func(words []string) bool {
				i := slices.Index(words, "tofu-oci")
				return i >= 0 && len(words) > i+len(path) && slices.Equal(words[i+1:i+1+len(path)], path)
			}) {
				t.Errorf("no script runs %s with --output json", strings.Join(path, " "))
			}
		}
	}
	check(main.NewApp(io.Discard, io.Discard).Commands, nil)
}

// checkDocument checks that text, unless it is empty, is a document in the envelope that
// all commands share. It validates the document against its schema.
func checkDocument(text string) error {
	if text == "" {
		return nil
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return fmt.Errorf("stdout is not JSON: %w", err)
	}
	object, _ := value.(map[string]any)
	url, hasSchema := object["$schema"].(string)
	_, hasItems := object["items"].([]any)
	_, hasSummary := object["summary"].(map[string]any)
	keys := 3
	if _, hasUnread := object["unread"].([]any); hasUnread {
		keys++
	}
	if !hasSchema || !hasItems || !hasSummary || len(object) != keys {
		return fmt.Errorf("the document has the keys %q, want $schema, items, and summary", slices.Sorted(maps.Keys(object)))
	}
	schema, err := documentSchema(url)
	if err != nil {
		return err
	}
	return schema.Validate(value)
}
