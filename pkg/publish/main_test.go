package publish_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// asProgram makes the test program an external program: its first argument.
const asProgram = "publish-test-program"

// TestMain lets the test program stand in for external programs, so that the
// tests need none and run on every system.
func TestMain(m *testing.M) {
	if len(os.Args) < 3 || os.Args[1] != asProgram {
		// Else each program with the race detector takes a second to end.
		if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil {
			panic(err)
		}
		os.Exit(m.Run())
	}
	do := map[string]func(args []string) error{"sbom": sbomProgram, "create": createProgram}[os.Args[2]]
	if err := do(os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// commandLine names a program of the test program.
func commandLine(t *testing.T, words ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	line := "'" + self + "' " + asProgram
	for _, word := range words {
		line += " '" + word + "'"
	}
	return line
}

// call is what a program was given.
type call struct {
	Args  []string
	Query map[string]string
	// Binary is what the file of that name held.
	Binary string
}

// record leaves what a program was given in a directory.
func record(dir string, args []string) (call, error) {
	c := call{Args: args}
	if err := json.NewDecoder(os.Stdin).Decode(&c.Query); err != nil {
		return c, err
	}
	if name := c.Query["binary"]; name != "" {
		content, err := os.ReadFile(name)
		if err != nil {
			return c, err
		}
		c.Binary = string(content)
	}
	f, err := os.CreateTemp(dir, "call")
	if err != nil {
		return c, err
	}
	if err := json.NewEncoder(f).Encode(c); err != nil {
		return c, err
	}
	return c, f.Close()
}

// calls reads what programs left.
func calls(t *testing.T, dir string) []call {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []call
	for _, entry := range entries {
		data, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		var c call
		if err == nil {
			err = json.Unmarshal(data, &c)
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

// sbomProgram DIRECTORY MODE ARG... makes an SBOM that says for what.
func sbomProgram(args []string) error {
	c, err := record(args[0], args[2:])
	if err != nil {
		return err
	}
	switch args[1] {
	case "spdx":
		return json.NewEncoder(os.Stdout).Encode(map[string]string{"spdxVersion": "SPDX-2.3", "name": c.Query["os"]})
	case "cyclonedx":
		return json.NewEncoder(os.Stdout).Encode(map[string]string{"bomFormat": "CycloneDX"})
	case "fail":
		return fmt.Errorf("no catalogers for %s", c.Query["os"])
	}
	_, err = io.WriteString(os.Stdout, args[1])
	return err
}

// createProgram DIRECTORY MODE URL ARG... makes a repositoryName, by asking the test
// for it.
func createProgram(args []string) error {
	c, err := record(args[0], args[3:])
	if err != nil {
		return err
	}
	switch args[1] {
	case "fail":
		return fmt.Errorf("no permission for %s", c.Query["repository"])
	case "idle":
		return nil
	}
	resp, err := http.Post(args[2], "text/plain", strings.NewReader(c.Query["repository"]))
	if err != nil {
		return err
	}
	_, err = fmt.Println("created, as the registry says")
	_ = resp.Body.Close()
	return err
}
