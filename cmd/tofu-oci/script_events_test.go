package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Names of the files that collect the events and summaries of all runs of a script.
const (
	eventsFile  = "events.jsonl"
	summaryFile = "summary.md"
)

// eventsSchema is the published schema.
var eventsSchema = sync.OnceValues(func() (*jsonschema.Schema, error) {
	return jsonschema.NewCompiler().Compile(filepath.Join("..", "..", "docs", "schema", "v2", "events.schema.json"))
})

// happened contains the checked fields of an event.
type happened struct {
	Time, Event, Provider, Version, Status, Platform string
	Statuses                                         map[string]int
	ExitCode                                         int `json:"exit_code"`
}

// checkEvents validates a run's events, if any. It compares them with their schema,
// with each other, and with the exit code.
func checkEvents(path string, code int) error {
	events, err := readEvents(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	first, last := events[0], events[len(events)-1]
	if first.Event != "run_started" || last.Event != "run_finished" || last.ExitCode != code {
		return fmt.Errorf("the events begin with %s and end with %s, exit code %d", first.Event, last.Event, last.ExitCode)
	}
	under, statuses, before := map[string]int{}, map[string]int{}, ""
	for _, e := range events {
		if e.Time < before {
			return fmt.Errorf("%s was after %s", before, e.Time)
		}
		before = e.Time
		of, state, _ := strings.Cut(e.Event, "_")
		key := strings.Join([]string{of, e.Provider, e.Version, e.Platform}, " ")
		switch {
		case state == "started":
			under[key]++
		case state == "finished" && under[key] > 0:
			under[key]--
		case state == "finished" && !slices.Contains([]string{"failed", "held", "denied", "pending"}, e.Status):
			return fmt.Errorf("%s ended without a beginning", key)
		}
		if e.Event == "item_finished" {
			statuses[e.Status]++
		}
	}
	for key, n := range under {
		if n > 0 {
			return fmt.Errorf("%s never ended", key)
		}
	}
	if !maps.Equal(last.Statuses, statuses) {
		return fmt.Errorf("the run counts %v, its items %v", last.Statuses, statuses)
	}
	return nil
}

// readEvents reads events and validates them against the schema.
func readEvents(path string) ([]happened, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	schema, err := eventsSchema()
	if err != nil {
		return nil, err
	}
	var events []happened
	for line := range bytes.Lines(data) {
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
		if err == nil {
			err = schema.Validate(value)
		}
		var e happened
		if err == nil {
			err = json.Unmarshal(line, &e)
		}
		if err != nil || !bytes.HasSuffix(line, []byte("\n")) {
			return nil, fmt.Errorf("event %s: %w", line, err)
		}
		events = append(events, e)
	}
	if len(events) == 0 {
		return nil, errors.New("no events")
	}
	return events, nil
}

// events NAME... checks the names and the order of the events of the last run. "a|b a|b" matches
// concurrent events in either order.
func cmdEvents(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("say which events")
	}
	events, err := readEvents(ts.MkAbs(eventsFile))
	ts.Check(err)
	var names []string
	for _, e := range events {
		names = append(names, e.Event)
	}
	if len(names) != len(args) {
		ts.Fatalf("events %q", names)
	}
	for i, name := range names {
		if !strings.Contains("|"+args[i]+"|", "|"+name+"|") {
			ts.Fatalf("events %q", names)
		}
	}
}
