//go:build release

package release_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// counted serves an offer and counts the requests.
type counted struct {
	offer

	mu       sync.Mutex
	requests map[string]int
}

func (c *counted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.requests[r.URL.Path]++
	c.mu.Unlock()
	c.offer.ServeHTTP(w, r)
}

// newSetup returns a runner that has gh but not tofu-oci, the inputs of the setup
// action, and a server that offers releases.
func newSetup(t *testing.T, o offer, gh string) (r *runner, with map[string]string, server *counted) {
	t.Helper()
	server = &counted{offer: o, requests: map[string]int{}}
	url := httptest.NewServer(server)
	t.Cleanup(url.Close)
	bin := t.TempDir()
	if gh != "" {
		write(t, filepath.Join(bin, "gh"), "#!/bin/sh\n"+ghHelp+gh+"\n")
	}
	r = newRunner(t)
	r.env = []string{"PATH=" + bin + ":/usr/bin:/bin", "HOME=" + t.TempDir()}
	return r, map[string]string{"base-url": url.URL}, server
}

// TestActionSetup installs the newest release and a given version. The action must
// request the attestation with the token from the inputs. It must download the archive
// only once, and verify the archive in each run.
func TestActionSetup(t *testing.T) {
	t.Parallel()
	program, err := os.ReadFile(programs.tofuOCI)
	if err != nil {
		t.Fatal(err)
	}
	o, archive := newOffer(t, program)
	calls := filepath.Join(t.TempDir(), "calls")
	r, with, server := newSetup(t, o, `echo "$GH_TOKEN: $*" >>`+calls)
	for i, version := range []string{"", "v1.2.3"} {
		with["version"] = version
		r.temp, r.tools = t.TempDir(), t.TempDir()
		u := r.use(t, "setup", with)
		dir := filepath.Join(r.temp, "tofu-oci-1.2.3")
		want := map[string]string{"version": "1.2.3", "platform": "linux_amd64", "path": filepath.Join(dir, "tofu-oci")}
		if diff := cmp.Diff(want, u.outputs); diff != "" || u.code != 0 || u.path != dir+"\n" {
			t.Fatalf("-want +got\n%s%v", diff, u)
		}
		if !strings.Contains(u.summary, "tofu-oci 1.2.3 for linux_amd64, verified by its attestation") {
			t.Errorf("unexpected summary: %s", u.summary)
		}
		output(t, exec.CommandContext(t.Context(), u.outputs["path"], "--version"))
		if got := strings.Count(read(t, calls), "the job's token: attestation verify "); got != i+1 {
			t.Errorf("the attestation was verified %d times in %d runs", got, i+1)
		}
	}
	if got := server.requests[archive]; got != 1 {
		t.Errorf("the archive was fetched %d times", got)
	}
	for key := range r.cached {
		if key != "tofu-oci-1.2.3-linux_amd64" {
			t.Errorf("unexpected cache key %s", key)
		}
	}
}

// TestActionSetupRunners checks which archive the action installs on each runner. On
// Windows, the archive is a zip, and cygpath converts the paths.
func TestActionSetupRunners(t *testing.T) {
	t.Parallel()
	for runner, archive := range map[string]string{
		"macOS ARM64": "tofu-oci_1.2.3_darwin_arm64.tar.gz", "Linux ARM64": "tofu-oci_1.2.3_linux_arm64.tar.gz", "Windows X64": "tofu-oci_1.2.3_windows_amd64.zip",
	} {
		t.Run(runner, func(t *testing.T) {
			t.Parallel()
			o, tarball := newOffer(t, []byte(smallProgram))
			content := o.files[tarball]
			if strings.HasSuffix(archive, ".zip") {
				content = zipped(t, "tofu-oci.exe", smallProgram)
			}
			o.files["/download/v1.2.3/"+archive] = content
			o.files[sumsPath] = fmt.Appendf(nil, "%x  %s\n", sha256.Sum256(content), archive)
			r, with, _ := newSetup(t, o, "exit 0")
			r.os, r.arch, _ = strings.Cut(runner, " ")
			name := "tofu-oci"
			if r.os == "Windows" {
				name += ".exe"
				bin, _, _ := strings.Cut(strings.TrimPrefix(r.env[0], "PATH="), ":")
				write(t, filepath.Join(bin, "cygpath"), `#!/bin/sh`+"\n"+`[ "$1" = -w ] && echo "N:$2" || echo "${2#N:}"`+"\n")
				r.temp, r.tools = "N:"+r.temp, "N:"+r.tools
			}
			u := r.use(t, "setup", with)
			dir := r.temp + "/tofu-oci-1.2.3"
			if u.code != 0 || u.path != dir+"\n" || u.outputs["path"] != dir+"/"+name {
				t.Fatal(u)
			}
			if text := read(t, strings.TrimPrefix(u.outputs["path"], "N:")); text != smallProgram {
				t.Errorf("unexpected program %q", text)
			}
		})
	}
}

func zipped(t *testing.T, name, text string) []byte {
	t.Helper()
	var packed bytes.Buffer
	files := zip.NewWriter(&packed)
	w, err := files.Create(name)
	if err == nil {
		_, err = w.Write([]byte(text))
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// TestActionSetupFailsClosed checks that an archive that fails verification is neither
// installed nor added to PATH, and that inputs are not executed.
func TestActionSetupFailsClosed(t *testing.T) {
	t.Parallel()
	const attests = "exit 0"
	tests := map[string]struct {
		gh     string
		with   map[string]string
		change func(o offer, archive string, r *runner)
		want   string
	}{
		"another archive": {gh: attests, change: func(o offer, archive string, _ *runner) { o.files[archive][50] ^= 1 }, want: "has the SHA-256"},
		"no line for it":  {gh: attests, change: func(o offer, _ string, _ *runner) { o.files[sumsPath] = nil }, want: "does not list"},
		"no gh":           {want: "--attestation require needs it"},
		"gh without login": {
			gh: "exit 1", want: "--attestation require needs it",
		},
		"attested by others":  {gh: `[ "$1 $2" = "auth status" ]`, want: "cannot verify the attestation"},
		"another mode":        {gh: attests, with: map[string]string{"attestation": "auto"}, want: "want require or skip, got auto"},
		"mode is a command":   {gh: attests, with: map[string]string{"attestation": "skip\n::set-env name=X::y"}, want: "::error::invalid input attestation: want require or skip, got skip%0A::set-env"},
		"version is none":     {gh: attests, with: map[string]string{"version": "../1.2.3"}, want: "invalid version"},
		"version is a flag":   {gh: attests, with: map[string]string{"version": "--attestation"}, want: "cannot download"},
		"version is a script": {gh: attests, with: map[string]string{"version": "$(touch here)"}, want: "invalid version"},
		"version has lines":   {gh: attests, with: map[string]string{"version": "1.2.3\nversion=6.6.6"}, want: "invalid version"},
		"plain HTTP":          {gh: attests, with: map[string]string{"base-url": "http://example.com"}, want: "is not an https URL"},
		"another machine":     {gh: attests, change: func(_ offer, _ string, r *runner) { r.arch = "ARM" }, want: "no release for Linux on ARM"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, archive := newOffer(t, []byte(smallProgram))
			r, with, _ := newSetup(t, o, test.gh)
			if test.change != nil {
				test.change(o, archive, r)
			}
			maps.Copy(with, test.with)
			u := r.use(t, "setup", with)
			left, err := filepath.Glob(filepath.Join(r.temp, "*", "*"))
			if u.code == 0 || u.path != "" || u.outputs["path"] != "" || u.summary != "" || len(left) != 0 || err != nil || !strings.Contains(u.log, test.want) {
				t.Errorf("%v, remaining files %v, %v; want %q", u, left, err, test.want)
			}
			nothingIsRun(t, r)
		})
	}
}

// TestActionSetupVerifiesCache checks that the action downloads the archive again if
// the cached archive was modified.
func TestActionSetupVerifiesCache(t *testing.T) {
	t.Parallel()
	o, archive := newOffer(t, []byte(smallProgram))
	r, with, server := newSetup(t, o, "exit 0")
	with["cache"] = "false"
	kept := filepath.Join(r.tools, "tofu-oci", "1.2.3", filepath.Base(archive))
	write(t, kept, "something else")
	for range 2 {
		if u := r.use(t, "setup", with); u.code != 0 {
			t.Fatal(u)
		}
	}
	if server.requests[archive] != 1 || read(t, kept) != string(o.files[archive]) || len(r.cached) != 0 {
		t.Errorf("the archive was fetched %d times", server.requests[archive])
	}
}

// nothingIsRun fails the test if an input was executed as a command. The inputs contain
// commands that would create a file.
func nothingIsRun(t *testing.T, r *runner) {
	t.Helper()
	if entries, err := os.ReadDir(r.workspace); err != nil || len(entries) != 0 {
		t.Errorf("unexpected files in the workspace: %v, %v", entries, err)
	}
}
