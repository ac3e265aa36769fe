package extprog_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/extprog"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
)

// TestTrace checks that a trace receives a program's path and error, but neither its
// input nor its output.
func TestTrace(t *testing.T) {
	t.Parallel()
	var paths, ends []string
	ctx := extprog.WithTrace(t.Context(), func(path string) func(error) {
		paths = append(paths, path)
		return func(err error) {
			end := "well"
			if err != nil {
				end = err.Error()
			}
			ends = append(ends, end)
		}
	})
	secret := extprog.Call{Stdin: []byte(`{"password":"hunter2"}`), Timeout: patience.Limit}
	for _, as := range []string{"deaf", "fail"} {
		call := secret
		call.Env = append(actAs(as), "EXTPROG_TEST_ADDED=hunter2")
		_, err := parse(t, self(t)+" --token=hunter2").Run(ctx, call)
		if failed := err != nil; failed != (as == "fail") {
			t.Errorf("%s: %v", as, err)
		}
	}
	if _, err := parse(t, "no-such-program-anywhere").Run(ctx, secret); err == nil {
		t.Error("a missing program was run")
	}
	if len(paths) != 2 || !filepath.IsAbs(paths[0]) || paths[0] != paths[1] {
		t.Errorf("started: %q", paths)
	}
	if got := strings.Join(ends, ", "); got != "well, exit status 3" {
		t.Errorf("ended: %s", got)
	}
}
