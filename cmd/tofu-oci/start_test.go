package main_test

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// initialized matches a line of GODEBUG=inittrace=1: a package and its allocations.
var initialized = regexp.MustCompile(`(?m)^init github\.com/tofu-oci/tofu-oci/(\S+) @.* bytes, ([0-9]+) allocs$`)

// TestInitialization checks how much work the packages of this module do before main
// starts, because each run of the program waits for this work.
func TestInitialization(t *testing.T) {
	t.Parallel()
	const most, mostBusy, busy = 1000, 20, 50
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	found, packages := 0, []string{}
	for _, match := range initialized.FindAllStringSubmatch(string(out), -1) {
		if found++; strings.HasPrefix(match[1], "internal/testing/") {
			continue
		}
		allocations, err := strconv.Atoi(match[2])
		if err != nil {
			t.Fatal(err)
		}
		if allocations > most {
			t.Errorf("initializing %s needs %d allocations, more than %d", match[1], allocations, most)
		}
		if allocations > busy {
			packages = append(packages, match[1])
		}
	}
	if found == 0 || len(packages) > mostBusy {
		t.Errorf("%d of %d packages need more than %d allocations, more than %d: %v", len(packages), found, busy, mostBusy, packages)
	}
}
