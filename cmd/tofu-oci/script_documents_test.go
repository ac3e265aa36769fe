package main_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// documentSchema gives the schema that a document names, out of docs/schema.
var documentSchema = func() func(url string) (*jsonschema.Schema, error) {
	var mu sync.Mutex
	known := map[string]*jsonschema.Schema{}
	return func(url string) (*jsonschema.Schema, error) {
		mu.Lock()
		defer mu.Unlock()
		if s := known[url]; s != nil {
			return s, nil
		}
		s, err := jsonschema.NewCompiler().Compile(filepath.Join("..", "..", "docs", "schema", filepath.Base(url)))
		if err == nil {
			known[url] = s
		}
		return s, err
	}
}()

// asksJSON reports whether a run prints a document.
func asksJSON(args []string) bool {
	i := slices.Index(args, "--output")
	return i >= 0 && i+1 < len(args) && args[i+1] == "json" || slices.Contains(args, "--output=json")
}

// checkDocument holds what was printed, if anything was, to the schema that it names.
func checkDocument(text string) error {
	if text == "" {
		return nil
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return fmt.Errorf("stdout is no JSON: %w", err)
	}
	object, _ := value.(map[string]any)
	url, ok := object["$schema"].(string)
	if !ok {
		return errors.New("the document names no schema")
	}
	schema, err := documentSchema(url)
	if err != nil {
		return err
	}
	return schema.Validate(value)
}
