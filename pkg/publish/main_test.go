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

// asProgram is the first argument that makes the test binary act as an external
// program.
const asProgram = "publish-test-program"

// TestMain lets the test binary act as an external program, so that the tests need no
// other programs and run on every system.
func TestMain(m *testing.M) {
	if len(os.Args) < 3 || os.Args[1] != asProgram {
		// Otherwise, each process waits for a second before it exits if the race
		// detector is enabled.
		if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil {
			panic(err)
		}
		os.Exit(m.Run())
	}
	do := map[string]func(args []string) error{"sbom": sbomProgram, "create": createProgram, "gate": gateProgram}[os.Args[2]]
	if err := do(os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// commandLine returns a command line that runs the test binary as an external program.
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

// call contains the recorded input of a program.
type call struct {
	Args  []string
	Query map[string]string
	// Binary is the content of the file whose path is in the query's binary field.
	Binary string
}

// record writes the input of a program to a file in dir.
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

// calls reads the recorded inputs.
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

// sbomProgram prints an SBOM that contains the operating system. Its arguments are
// DIRECTORY MODE ARG….
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

// createProgram creates a repository by a request to the test's server. Its arguments
// are DIRECTORY MODE URL ARG….
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
