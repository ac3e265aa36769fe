package exec_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/exec"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// TestUnrequired checks a locked provider that is missing and not required. The
// provider is ignored, unless another lock file or an unread part of the configuration
// could require it.
func TestUnrequired(t *testing.T) {
	t.Parallel()
	const required = "terraform {\n required_providers {\n one = { source = \"acme/one\" }\n}\n}\n"
	for name, test := range map[string]struct {
		configuration string
		command       string
		more          func(w *world, o *exec.Options)
		ignored       bool
	}{
		"not required":        {configuration: required, ignored: true},
		"required":            {configuration: "terraform {\n required_providers {\n three = { source = \"acme/three\" }\n}\n}\n"},
		"an unread module":    {configuration: required + "module \"m\" {\n source = \"acme/m/aws\"\n}\n"},
		"no configuration":    {},
		"an error":            {configuration: "terraform {"},
		"a lock file by name": {configuration: required, more: func(w *world, o *exec.Options) { o.LockFiles = []string{filepath.Join(w.dir, here)} }},
		"init":                {configuration: required, command: "init", ignored: true},
		"init, only locked":   {configuration: required, command: "init", more: func(_ *world, o *exec.Options) { o.OnlyLocked = true }, ignored: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.lock(t, here, map[string][]string{"one 1.0.0": {w.hashes["one 1.0.0"].zh}, "three 1.0.0": {other.zh}})
			if test.configuration != "" {
				must(t, os.WriteFile(filepath.Join(w.dir, "main.tf"), []byte(test.configuration), 0o600))
			}
			var left []provider.Address
			r := w.run(t, "tofu", "show", func(o *exec.Options) {
				o.Left = func(a provider.Address, _ string) { left = append(left, a) }
				if test.command != "" {
					o.Command = append(o.Command, test.command)
				}
				if test.more != nil {
					test.more(w, o)
				}
			})
			if !test.ignored {
				if !errors.Is(r.err, provider.ErrProviderNotFound) || r.stdout != "" {
					t.Errorf("error %v, the child printed %q", r.err, r.stdout)
				}
				return
			}
			three, err := provider.ParseAddress("acme/three")
			must(t, err)
			if diff := cmp.Diff([]provider.Address{three}, left); r.err != nil || diff != "" {
				t.Errorf("error %v, left (-want +got):\n%s", r.err, diff)
			}
			if _, mirror := r.configured(t); len(holds(t, mirror)) != 1 {
				t.Error("the other provider is missing")
			}
		})
	}
}
