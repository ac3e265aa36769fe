package exec_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/exec"
	"github.com/tofu-oci/tofu-oci/internal/lock"
	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/store"
)

const here = ".terraform.lock.hcl"

// TestRun checks that the child finds the locked packages. No requests are sent for
// packages in the store, even if a different lock file selects them.
func TestRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two := w.hashes["one 1.0.0"], w.hashes["two 1.0.0"]
	w.lock(t, here, map[string][]string{"one 1.0.0": {one.zh, other.zh}, "two 1.0.0": {two.zh}})
	want := map[string]string{"one/terraform-provider-one_1.0.0_haiku_riscv64.zip": "zip", "two/terraform-provider-two_1.0.0_haiku_riscv64.zip": "zip"}
	first := w.run(t, "tofu", "show")
	c, mirror := first.configured(t)
	if diff := cmp.Diff(want, holds(t, mirror)); diff != "" || first.zips != 2 {
		t.Errorf("%d zips were fetched %s", first.zips, diff)
	}
	if strings.Contains(first.stdout, "there is") {
		t.Errorf("the child has another configuration: %s", first.stdout)
	}
	if include := c.Installation.Methods[0].Include; len(include) != 2 || include[0].String() != "registry.opentofu.org/acme/one" {
		t.Errorf("the mirror is for %v", include)
	}
	for _, hashes := range [][]string{{one.zh, other.zh}, {one.zh}, {one.unpacked, one.zh}, {one.h1}, {other.h1, one.zh}} {
		w.lock(t, here, map[string][]string{"one 1.0.0": hashes, "two 1.0.0": {two.zh}})
		again := w.run(t, "terraform", "show")
		if _, same := again.configured(t); same != mirror || again.requests != 0 {
			t.Errorf("%d requests, and the mirror is %s", again.requests, same)
		}
	}
	left, err := filepath.Glob(filepath.Join(w.cache, ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("%q is left, %v", left, err)
	}
}

// TestMultipleLockFiles checks that multiple versions of a provider are available, and
// that a zip must match each lock file.
func TestMultipleLockFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, newer := w.hashes["one 1.0.0"], w.hashes["one 2.0.0"]
	files := []string{
		w.lock(t, "a/"+here, map[string][]string{"one 1.0.0": {one.zh}}),
		w.lock(t, "b/"+here, map[string][]string{"one 2.0.0": {newer.zh, newer.unpacked}}),
		w.lock(t, "c/"+here, map[string][]string{"one 1.0.0": {one.h1}}),
	}
	named := func(o *exec.Options) { o.LockFiles = files }
	_, mirror := w.run(t, "terragrunt", "show", named).configured(t)
	want := map[string]string{"one/terraform-provider-one_1.0.0_haiku_riscv64.zip": "zip", "one/terraform-provider-one_2.0.0_haiku_riscv64.zip": "zip"}
	if diff := cmp.Diff(want, holds(t, mirror)); diff != "" {
		t.Error(diff)
	}
	// One lock file has different hashes.
	files[2] = w.lock(t, "c/"+here, map[string][]string{"one 1.0.0": {other.zh}})
	if r := w.run(t, "terragrunt", "show", named); !isHashError(r.err) {
		t.Errorf("error %v", r.err)
	}
}

func isHashError(err error) bool {
	_, is := errors.AsType[*lock.HashError](err)
	return is
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		locked map[string][]string
		is     func(error) bool
	}{
		"another zh":   {map[string][]string{"one 1.0.0": {other.zh}}, isHashError},
		"another h1":   {map[string][]string{"one 1.0.0": {other.h1}}, isHashError},
		"both":         {map[string][]string{"one 1.0.0": {other.h1, other.zh}}, isHashError},
		"no hashes":    {map[string][]string{"one 1.0.0": nil}, isHashError},
		"one of three": {map[string][]string{"one 1.0.0": {other.zh}, "two 3.0.0": {other.zh}}, isHashError},
		"no such version": {map[string][]string{"one 3.0.0": {other.zh}}, func(err error) bool {
			e, is := errors.AsType[*provider.VersionError](err)
			return is && len(e.Have) == 2 && strings.HasSuffix(err.Error(), "version not found; existing versions: 2.0.0, 1.0.0")
		}},
		"no such provider": {map[string][]string{"three 1.0.0": {other.zh}}, func(err error) bool {
			at, is := errors.AsType[*provider.Error](err)
			return is && at.Address.Type == "three" && errors.Is(err, provider.ErrProviderNotFound)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.lock(t, here, test.locked)
			r := w.run(t, "tofu", "show")
			if !test.is(r.err) || r.stdout != "" {
				t.Errorf("error %v, the child printed %q", r.err, r.stdout)
			}
			// The store can keep a zip that was read, but no run uses it.
			entries, err := w.open(t).Entries(t.Context())
			if err != nil || slices.ContainsFunc(entries, func(e store.Entry) bool { return e.Kind != "zip" }) || w.open(t).CachedZips("registry.opentofu.org/acme/one 1.0.0 haiku_riscv64") != nil {
				t.Errorf("the store has %v, %v", entries, err)
			}
		})
	}
}

func TestInvalidLockFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if r := w.run(t, "tofu", "show"); !errors.Is(r.err, lock.ErrNoFile) {
		t.Errorf("error %v", r.err)
	}
	must(t, os.WriteFile(filepath.Join(w.dir, here), []byte("provider {"), 0o644))
	r := w.run(t, "tofu", "show")
	if e, is := errors.AsType[*stricthcl.Error](r.err); !is || e.Line != 1 {
		t.Errorf("error %v", r.err)
	}
	missing := func(o *exec.Options) { o.LockFiles = []string{filepath.Join(w.dir, "none")} }
	if r := w.run(t, "tofu", "show", missing); !errors.Is(r.err, fs.ErrNotExist) {
		t.Errorf("error %v", r.err)
	}
}

// TestLock checks that a missing lock file is created according to the rules of the
// program.
func TestLock(t *testing.T) {
	t.Parallel()
	for program, host := range map[string]string{"tofu": "registry.opentofu.org", "terraform": "registry.terraform.io"} {
		for _, readOnly := range []string{"", "argument", "TF_CLI_ARGS", "TF_CLI_ARGS_init"} {
			w := newWorld(t)
			must(t, os.WriteFile(filepath.Join(w.dir, "main.tf"), []byte("terraform {\n required_providers {\n one = { source = \"acme/one\" }\n}\n}\n"), 0o600))
			var changes []lock.Change
			r := w.run(t, program, "show", func(o *exec.Options) {
				o.Lock, o.Locked = &lock.FileOptions{}, func(c lock.Change) { changes = append(changes, c) }
				switch readOnly {
				case "":
				case "argument":
					o.Command = append(o.Command, "-lockfile=readonly")
				default:
					getenv := o.Environment.Getenv
					o.Environment.Getenv = func(name string) string {
						if name == readOnly {
							return "-input=false '-lockfile=readonly'"
						}
						return getenv(name)
					}
				}
				if program == "terraform" { // the test must not contact its registry
					o.Source = gone{}
				}
			})
			if len(changes) != 1 || len(changes[0].Providers) != 1 || changes[0].Providers[0].Requirement.Address.Host.String() != host {
				t.Fatalf("%s: locked %+v", program, changes)
			}
			if _, err := os.Stat(filepath.Join(w.dir, here)); (err == nil) != changes[0].Written || readOnly != "" && err == nil {
				t.Errorf("%s: written is %v, %v", program, changes[0].Written, err)
			}
			if program == "terraform" {
				if r.err == nil {
					t.Error("ran without packages")
				}
				continue
			}
			if _, mirror := r.configured(t); len(holds(t, mirror)) != 1 {
				t.Error("the mirror is empty")
			}
		}
	}
}

// TestNothingToLock checks commands in a directory with neither a lock file nor a
// configuration. OpenTofu and Terraform run, unless --dir specifies the directory.
// Other programs do not run.
func TestNothingToLock(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, test := range map[string]struct {
		program string
		chdir   bool
		runs    bool
	}{
		"tofu":            {"tofu", true, true},
		"terraform":       {"terraform1.5.7", true, true},
		"tofu with --dir": {"tofu", false, false},
		"terragrunt":      {"terragrunt", false, false},
	} {
		r := w.run(t, test.program, "show", func(o *exec.Options) {
			o.Lock = &lock.FileOptions{}
			if test.chdir {
				o.Command, o.Dir = append(o.Command, "-chdir="+o.Dir), ""
			}
		})
		if !test.runs {
			if !errors.Is(r.err, lock.ErrNoFile) || r.stdout != "" {
				t.Errorf("%s: error %v, stdout %s", name, r.err, r.stdout)
			}
			continue
		}
		if _, mirror := r.configured(t); mirror != "" {
			t.Errorf("%s: the mirror is %s", name, mirror)
		}
	}
}

func TestVerify(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.lock(t, here, map[string][]string{"one 1.0.0": {w.hashes["one 1.0.0"].zh}})
	refused := errors.New("unsigned")
	r := w.run(t, "tofu", "show", func(o *exec.Options) {
		o.Verify = func(ctx context.Context, r provider.Release) (provider.Verdict, error) {
			v, _ := acceptAll(ctx, r)
			return v, refused
		}
	})
	if !errors.Is(r.err, refused) || r.zips > 0 {
		t.Errorf("error %v, %d zips", r.err, r.zips)
	}
}

// TestVerifyCached checks that each run verifies packages in the store with the stored
// metadata and without requests. The source is used only if this verification fails.
func TestVerifyCached(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.lock(t, here, map[string][]string{"one 1.0.0": {w.hashes["one 1.0.0"].zh}})
	var verified []provider.Release
	var refused error
	times := 0
	verifying := func(o *exec.Options) {
		o.Source = counting{o.Source, &times}
		o.Verify = func(_ context.Context, r provider.Release) (provider.Verdict, error) {
			verified = append(verified, r)
			return provider.Verdict{}, refused
		}
	}
	// 1. Run without a policy.
	w.run(t, "tofu", "show").configured(t)
	// 2. Run with a policy that accepts the package.
	w.run(t, "tofu", "show", verifying).configured(t)
	if r := w.run(t, "tofu", "show", verifying); r.err != nil || times != 0 || len(verified) != 2 {
		t.Fatalf("%d requests, verified %d times, error %v", times, len(verified), r.err)
	}
	sums, found := verified[0].Document(provider.KindSums)
	if !found || !strings.Contains(string(sums.Bytes), strings.TrimPrefix(w.hashes["one 1.0.0"].zh, "zh:")) {
		t.Errorf("the release was verified with %v", verified[0].Documents)
	}
	// 3. Run with a policy that rejects it.
	refused = errors.New("unsigned")
	r := w.run(t, "tofu", "show", verifying)
	if !errors.Is(r.err, refused) || r.stdout != "" || r.zips != 0 || times != 1 || len(verified) != 4 {
		t.Errorf("%d requests, %d zips, verified %d times, error %v", times, r.zips, len(verified), r.err)
	}
	// 4. The reason is reported even if the source is unavailable.
	r = w.run(t, "tofu", "show", verifying, func(o *exec.Options) { o.Source = gone{} })
	if !errors.Is(r.err, refused) || !errors.Is(r.err, errGone) || r.stdout != "" {
		t.Errorf("error %v", r.err)
	}
	// 5. Better metadata in the source is stored.
	verifying = func(o *exec.Options) {
		o.Source = counting{o.Source, &times}
		o.Verify = func(_ context.Context, r provider.Release) (provider.Verdict, error) {
			if _, signed := r.Document(provider.KindSignature); !signed {
				return provider.Verdict{}, refused
			}
			return provider.Verdict{}, nil
		}
	}
	resign := func(o *exec.Options) { o.Source = signed{o.Source} }
	w.run(t, "tofu", "show", verifying, resign).configured(t)
	times = 0
	if r := w.run(t, "tofu", "show", verifying); r.err != nil || times != 0 {
		t.Errorf("%d requests, error %v", times, r.err)
	}
}

// TestVerifyCachedWithoutMetadata checks that packages without stored metadata are
// verified with metadata from the source.
func TestVerifyCachedWithoutMetadata(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(*store.CachedZip){
		"none": func(k *store.CachedZip) { k.VerificationMetadata = nil },
		"of others": func(k *store.CachedZip) {
			content := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("0", 64) + "  other.zip\n"))
			k.VerificationMetadata = fmt.Appendf(nil, `{"documents": [{"kind": %q, "name": "SHA256SUMS", "content": %q}]}`, provider.KindSums, content)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.lock(t, here, map[string][]string{"one 1.0.0": {w.hashes["one 1.0.0"].zh}})
			times := 0
			verifying := func(o *exec.Options) { o.Source, o.Verify = counting{o.Source, &times}, acceptAll }
			w.run(t, "tofu", "show", verifying).configured(t)
			const key = "registry.opentofu.org/acme/one 1.0.0 haiku_riscv64"
			known := w.open(t).CachedZips(key)
			damage(&known[0])
			w.open(t).RecordZip(key, known[0])
			if r := w.run(t, "tofu", "show", verifying); r.err != nil || times != 2 || r.zips != 0 {
				t.Errorf("%d requests, %d zips, error %v", times, r.zips, r.err)
			}
		})
	}
}

// TestDevOverrides checks that providers under development are not fetched.
func TestDevOverrides(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.lock(t, here, map[string][]string{"one 1.0.0": {other.zh}, "two 1.0.0": {w.hashes["two 1.0.0"].zh}})
	config := filepath.Join(w.dir, "config.tfrc")
	must(t, os.WriteFile(config, []byte(`provider_installation {
  dev_overrides {
    "acme/one" = "built"
  }
  direct {}
}`), 0o600))
	r := w.run(t, "tofu", "show", func(o *exec.Options) { o.Config = config })
	c, mirror := r.configured(t)
	if diff := cmp.Diff(map[string]string{"two/terraform-provider-two_1.0.0_haiku_riscv64.zip": "zip"}, holds(t, mirror)); diff != "" {
		t.Error(diff)
	}
	one, err := provider.ParseAddress("acme/one")
	must(t, err)
	if got, want := c.Installation.DevOverrides[one].Path, filepath.Join(w.dir, "built"); got != want {
		t.Errorf("got directory %s, want %s", got, want)
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.lock(t, here, nil)
	if r := w.run(t, "tofu", "fail"); r.err != nil || r.code != 3 {
		t.Errorf("exit code %d, error %v", r.code, r.err)
	}
	text := filepath.Join(w.dir, "text")
	must(t, os.WriteFile(text, nil, 0o644))
	for command, want := range map[string]int{"no-such-command": 127, filepath.Join(w.dir, "none"): 127, "./none": 127, "./text": 126, w.dir: 126} {
		r := w.run(t, "tofu", "show", func(o *exec.Options) { o.Command = []string{command} })
		e, is := errors.AsType[*exec.StartError](r.err)
		if !is || e.Code != want && (want != 126 || filepath.Separator == '/') {
			t.Errorf("%s: error %v, want code %d", command, r.err, want)
		}
	}
	if r := w.run(t, "tofu", "show", func(o *exec.Options) { o.Command = nil }); r.err == nil {
		t.Error("the command did not run")
	}
}

// TestDamagedStore checks that damaged packages are fetched again.
func TestDamagedStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.lock(t, here, map[string][]string{"one 1.0.0": {w.hashes["one 1.0.0"].zh}})
	_, mirror := w.run(t, "tofu", "show").configured(t)
	path := filepath.Join(mirror, "registry.opentofu.org", "acme", "one", "terraform-provider-one_1.0.0_haiku_riscv64.zip")
	must(t, errors.Join(os.Chmod(path, 0o755), os.WriteFile(path, []byte("malware"), 0o755)))
	again := w.run(t, "tofu", "show")
	_, same := again.configured(t)
	if diff := cmp.Diff(map[string]string{"one/terraform-provider-one_1.0.0_haiku_riscv64.zip": "zip"}, holds(t, same)); diff != "" || again.zips != 1 || w.damaged.Load() != 1 {
		t.Errorf("%d zips, %d damaged %s", again.zips, w.damaged.Load(), diff)
	}
}

// TestRemovesLinks checks that programs can't unpack a zip over a package in the store,
// to which tofu-oci 0.1.0 created links.
func TestRemovesLinks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	link := filepath.Join(w.dir, ".terraform", "providers", "registry.opentofu.org", "acme", "one", "1.0.0", "haiku_riscv64")
	must(t, os.MkdirAll(filepath.Dir(link), 0o755))
	w.lock(t, here, map[string][]string{"one 1.0.0": {w.hashes["one 1.0.0"].zh}})
	for _, test := range []struct {
		target  string
		removed bool
	}{{filepath.Join(w.cache, "mirrors", "sha256", "x"), true}, {t.TempDir(), false}} {
		must(t, os.Symlink(test.target, link))
		w.run(t, "terraform", "show").configured(t)
		if _, err := os.Lstat(link); errors.Is(err, fs.ErrNotExist) != test.removed {
			t.Errorf("the link to %s: %v", test.target, err)
		}
	}
}

// TestMirrorHasNoPrograms checks that a mirror contains only zips, because clients link
// to unpacked packages in a mirror, and could then write into the store.
func TestMirrorHasNoPrograms(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"tofu", "terraform1.5.7", "tofu_1.6.0", "make"} {
		w := newWorld(t)
		one := w.hashes["one 1.0.0"]
		w.lock(t, here, map[string][]string{"one 1.0.0": {one.zh, one.h1, one.unpacked}})
		_, mirror := w.run(t, program, "show").configured(t)
		must(t, filepath.WalkDir(mirror, func(path string, _ fs.DirEntry, err error) error {
			must(t, err)
			if info, err := os.Stat(path); err != nil || info.Mode().IsRegular() && filepath.Ext(path) != ".zip" {
				t.Errorf("%s: unexpected file %s, %v", program, path, err)
			}
			return nil
		}))
		kinds := map[string]int{}
		entries, err := w.open(t).Entries(t.Context())
		must(t, err)
		for _, e := range entries {
			kinds[e.Kind]++
		}
		if diff := cmp.Diff(map[string]int{"zip": 1, "mirror": 1}, kinds); diff != "" {
			t.Error(diff)
		}
	}
}

// TestPruneWhileInUse checks that packages are kept while the child runs.
func TestPruneWhileInUse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two := w.hashes["one 1.0.0"], w.hashes["two 1.0.0"]
	w.lock(t, here, map[string][]string{"one 1.0.0": {one.zh}, "two 1.0.0": {other.h1, two.zh}})
	prune := func() store.Pruned {
		p, err := w.open(t).Prune(t.Context(), store.PruneOptions{MaxSize: new(int64(0))})
		must(t, err)
		return p
	}
	stdin, stop := io.Pipe()
	stdout, output := io.Pipe()
	done := make(chan ran)
	go func() {
		done <- w.run(t, "tofu", "wait", func(o *exec.Options) { o.Stdin, o.Stdout = stdin, output })
	}()
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
		t.Errorf("the child printed %q, %v", line, err)
	}
	if p := prune(); len(p.Removed) > 0 || len(p.InUse) != 3 {
		t.Errorf("removed %v, in use %v", p.Removed, p.InUse)
	}
	must(t, stop.Close())
	if r := <-done; r.err != nil || r.code != 0 {
		t.Errorf("exit code %d, error %v", r.code, r.err)
	}
	if p := prune(); len(p.Removed) != 3 || len(p.InUse) > 0 {
		t.Errorf("removed %v, in use %v", p.Removed, p.InUse)
	}
}

// TestConcurrentRuns runs ten commands with an empty store at the same time.
func TestConcurrentRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two := w.hashes["one 1.0.0"], w.hashes["two 1.0.0"]
	w.lock(t, here, map[string][]string{"one 1.0.0": {one.zh}, "two 1.0.0": {other.h1, two.zh}})
	want := map[string]string{"one/terraform-provider-one_1.0.0_haiku_riscv64.zip": "zip", "two/terraform-provider-two_1.0.0_haiku_riscv64.zip": "zip"}
	var group sync.WaitGroup
	for range 10 {
		group.Go(func() {
			_, mirror := w.run(t, "tofu", "show").configured(t)
			if diff := cmp.Diff(want, holds(t, mirror)); diff != "" {
				t.Error(diff)
			}
		})
	}
	group.Wait()
	if r := w.run(t, "tofu", "show"); r.err != nil || r.requests != 0 || w.damaged.Load() != 0 {
		t.Errorf("%d requests, %d damaged, %v", r.requests, w.damaged.Load(), r.err)
	}
	entries, err := w.open(t).Entries(t.Context())
	if err != nil || len(entries) != 3 {
		t.Errorf("the store has %v, %v", entries, err)
	}
}

func TestInterruptedBefore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.lock(t, here, map[string][]string{"one 1.0.0": {w.hashes["one 1.0.0"].zh}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := exec.Run(ctx, w.options(t, "tofu", "show")); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestInvalidConfiguration(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.lock(t, here, nil)
	config := filepath.Join(w.dir, "config.tfrc")
	must(t, os.WriteFile(config, []byte("provider_installation {"), 0o600))
	r := w.run(t, "tofu", "show", func(o *exec.Options) { o.Config = config })
	if _, is := errors.AsType[*stricthcl.Error](r.err); !is {
		t.Errorf("error %v", r.err)
	}
}

func TestWorkDir(t *testing.T) {
	t.Parallel()
	dir := filepath.FromSlash("/d")
	for _, test := range []struct{ command, env, want string }{
		{"tofu init", "", ""},
		{"tofu -chdir=a init", "", "a"},
		{"tofu -version -chdir=a/../b init", "", "b"},
		{"tofu init -chdir=a", "", ""},
		{"/usr/bin/terraform1.5.7 -chdir=/a plan", "", "/a"},
		{"Terraform.EXE -chdir=a plan", "", "a"},
		{"terragrunt plan --working-dir a", "", "a"},
		{"terragrunt plan --terragrunt-working-dir=a", "b", "a"},
		{"terragrunt plan --working-dir", "b", "b"},
		{"make -chdir=a --working-dir=a", "b", ""},
	} {
		want := filepath.Join(dir, test.want)
		if strings.HasPrefix(test.want, "/") {
			want = filepath.FromSlash(test.want)
		}
		getenv := func(name string) string { return map[string]string{"TG_WORKING_DIR": test.env}[name] }
		if got := exec.WorkDir(strings.Fields(test.command), dir, getenv); got != want {
			t.Errorf("%s works in %s, want %s", test.command, got, want)
		}
	}
}
