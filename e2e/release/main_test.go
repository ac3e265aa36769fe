//go:build release

// Package release_test tests the parts of a release: shell completions, manual pages,
// packages, the workflows that build the release, and the installation script. make
// distribution runs the tests.
package release_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// programs contains the paths of the programs, which the environment specifies. root is
// the root of the checkout.
var programs struct{ root, tofuOCI, goreleaser, actionlint, syft, registry string }

func TestMain(m *testing.M) {
	for name, into := range map[string]*string{
		"ROOT": &programs.root, "TOFU_OCI": &programs.tofuOCI, "GORELEASER": &programs.goreleaser, "ACTIONLINT": &programs.actionlint, "SYFT": &programs.syft,
		"REGISTRY": &programs.registry,
	} {
		if *into = os.Getenv(name); *into == "" {
			fmt.Fprintf(os.Stderr, "%s is not set: run make distribution\n", name)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// output runs a command, which must succeed, and returns its stdout.
func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	stdout, stderr, err := run(cmd)
	if err != nil {
		t.Fatalf("%v: %v\n%s%s", cmd.Args, err, stdout, stderr)
	}
	return stdout
}

func run(cmd *exec.Cmd) (stdout, stderr string, err error) {
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}
