package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// installSource is the source from which OpenTofu installs providers in a step.
type installSource string

const (
	direct   installSource = "direct"
	network  installSource = "network"
	packed   installSource = "packed"
	unpacked installSource = "unpacked"
)

// lockStep is one run of OpenTofu in a directory.
type lockStep struct {
	// from is the source of the providers. If platforms is set, the step runs
	// `providers lock` for these platforms. Otherwise, it runs `init`.
	from      installSource
	platforms []provider.Platform
	// upgrade adds the option -upgrade to init.
	upgrade bool
	// require is the configuration from this step on. If nil, the configuration does
	// not change.
	require []lockRequirement
}

// lockRequirement is a provider that the configuration requires.
type lockRequirement struct {
	source string
	// version is the selected version.
	version string
	// constraints contains the root module's constraint, followed by one constraint for
	// each additional module. An empty constraint means that the module specifies none.
	constraints []string
}

func requires(source, version string, constraints ...string) lockRequirement {
	return lockRequirement{source, version, constraints}
}

// TestLockFilesMatchTofu compares the real tofu's lock files with the files that
// pkg/lockfile writes for the same selections and hashes.
func TestLockFilesMatchTofu(t *testing.T) {
	t.Parallel()
	w := newLockWorld(t)
	for name, steps := range lockCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w.compare(t, steps)
		})
	}
}

func (w *lockWorld) compare(t *testing.T, steps []lockStep) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, ".terraform.lock.hcl")
	kept := parseLock(t, nil)
	var required []lockRequirement
	for i, step := range steps {
		// 1. Run the real tofu.
		if step.require != nil {
			required = step.require
			writeRequirements(t, dir, required)
		}
		w.run(t, dir, step, required)
		theirs, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		// 2. Write the same selections to the previous file and to a new file.
		changed, fresh, again := w.change(t, kept, step, required), parseLock(t, nil), parseLock(t, theirs)
		for _, s := range slices.Backward(changed.Selections()) {
			fresh.Set(s)
		}
		for name, ours := range map[string]*lockfile.File{"changed": changed, "fresh": fresh, "read": again} {
			if diff := cmp.Diff(string(theirs), string(ours.Bytes())); diff != "" {
				t.Errorf("step %d: the %s file differs (-tofu +ours):\n%s", i+1, name, diff)
			}
		}
		kept = again
	}
}

// change returns the lock file after a step's changes.
func (w *lockWorld) change(t *testing.T, before *lockfile.File, step lockStep, required []lockRequirement) *lockfile.File {
	t.Helper()
	after := parseLock(t, before.Bytes())
	for _, s := range before.Selections() {
		if !slices.ContainsFunc(required, func(r lockRequirement) bool { return r.address(t) == s.Address }) {
			after.Remove(s.Address)
		}
	}
	for _, r := range required {
		after.Set(w.selection(t, before, step, r))
	}
	// init does not write the lock file if only constraints changed.
	same := func(a, b lockfile.Selection) bool {
		return a.Address == b.Address && a.Version == b.Version && slices.Equal(a.Hashes, b.Hashes)
	}
	if step.platforms == nil && slices.EqualFunc(before.Selections(), after.Selections(), same) {
		return before
	}
	return after
}

func parseLock(t *testing.T, text []byte) *lockfile.File {
	t.Helper()
	f, err := lockfile.Parse("test.hcl", text)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func (r lockRequirement) address(t *testing.T) provider.Address {
	t.Helper()
	a, err := provider.ParseAddress(r.source)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// selection returns the selection that the lock file must contain for a provider after
// a step.
func (w *lockWorld) selection(t *testing.T, before *lockfile.File, step lockStep, r lockRequirement) lockfile.Selection {
	t.Helper()
	version, err := provider.ParseVersion(r.version)
	if err != nil {
		t.Fatal(err)
	}
	s := lockfile.Selection{Address: r.address(t), Version: version, Hashes: w.hashes(t, step, r)}
	given := slices.DeleteFunc(slices.Clone(r.constraints), func(c string) bool { return c == "" })
	if len(given) > 0 {
		if s.Constraints, err = provider.ParseConstraint(strings.Join(given, ",")); err != nil {
			t.Fatal(err)
		}
	}
	if old, ok := before.Selection(s.Address); ok && old.Version == version {
		s.Hashes = append(s.Hashes, old.Hashes...)
	}
	return s
}

// hashes returns the hashes of a provider that OpenTofu learns in a step. The result
// contains duplicates. A mirror provides only one package's hashes. An origin registry
// also provides signed checksums, and registry.opentofu.org provides all hashes.
func (w *lockWorld) hashes(t *testing.T, step lockStep, r lockRequirement) (hashes []lockfile.Hash) {
	t.Helper()
	a := r.address(t)
	name := a.Namespace + "/" + a.Type
	kind, packages := lockProviders[name], w.packages[name+" "+r.version]
	platforms := step.platforms
	if platforms == nil {
		platforms = []provider.Platform{provider.CurrentPlatform()}
	}
	for _, p := range platforms {
		hashes = append(hashes, packages[p].h1)
		if step.from == direct || step.from == network {
			hashes = append(hashes, packages[p].zh)
		}
	}
	if step.from != direct {
		return hashes
	}
	trusted := a.Host == provider.DefaultHost
	for _, one := range packages {
		if kind.packages && trusted {
			hashes = append(hashes, one.h1, one.zh)
		}
		if (kind.signed || trusted) && !kind.garbled() {
			hashes = append(hashes, one.zh)
		}
	}
	if kind.more != "" && !kind.garbled() {
		sum, _, _ := strings.Cut(kind.more, " ")
		hashes = append(hashes, lockfile.Hash("zh:"+sum))
	}
	return hashes
}

// run runs OpenTofu for one step.
func (w *lockWorld) run(t *testing.T, dir string, step lockStep, required []lockRequirement) {
	t.Helper()
	var addresses []provider.Address
	for _, r := range required {
		addresses = append(addresses, r.address(t))
	}
	var method string
	var flags []string
	switch step.from {
	case direct:
		method = "direct {}"
	case network:
		method, flags = fmt.Sprintf("network_mirror {\n    url = %q\n  }", w.network), []string{"-net-mirror=" + w.network}
	case packed, unpacked:
		mirror := filepath.ToSlash(w.filesystemMirror(t, step.from == packed, addresses...))
		method, flags = fmt.Sprintf("filesystem_mirror {\n    path = %q\n  }", mirror), []string{"-fs-mirror=" + mirror}
	}
	// If a provider is already installed, tofu does not install it again and does not
	// change its block.
	if err := os.RemoveAll(filepath.Join(dir, ".terraform", "providers")); err != nil {
		t.Fatal(err)
	}
	cli := filepath.Join(t.TempDir(), "tofurc")
	write(t, cli, w.hosts+"provider_installation {\n  "+method+"\n}\n")
	if step.platforms == nil {
		args := []string{"init", "-input=false", "-no-color"}
		if step.upgrade {
			args = append(args, "-upgrade")
		}
		tofu(t, dir, cli, args...)
		return
	}
	tofu(t, dir, cli, "get", "-no-color") // lock requires installed modules
	args := append([]string{"providers", "lock", "-no-color"}, flags...)
	for _, p := range step.platforms {
		args = append(args, "-platform="+p.String())
	}
	tofu(t, dir, cli, args...)
}

// writeRequirements writes a configuration with a root module and one module for each
// additional constraint.
func writeRequirements(t *testing.T, dir string, required []lockRequirement) {
	t.Helper()
	modules := 1
	for _, r := range required {
		modules = max(modules, len(r.constraints))
	}
	calls := ""
	for i := range modules {
		text := "terraform {\n  required_providers {\n"
		for n, r := range required {
			version := ""
			if i < len(r.constraints) && r.constraints[i] != "" {
				version = fmt.Sprintf(", version = %q", r.constraints[i])
			}
			text += fmt.Sprintf("    p%d = { source = %q%s }\n", n, r.source, version)
		}
		text += "  }\n}\n"
		if i == 0 {
			write(t, filepath.Join(dir, "versions.tf"), text)
			continue
		}
		write(t, filepath.Join(dir, fmt.Sprintf("m%d", i), "versions.tf"), text)
		calls += fmt.Sprintf("module \"m%d\" {\n  source = \"./m%d\"\n}\n", i, i)
	}
	write(t, filepath.Join(dir, "modules.tf"), calls)
}
