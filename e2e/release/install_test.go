//go:build release

package release_test

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// offer is a release on a server.
type offer struct{ files map[string][]byte }

// smallProgram is a program that prints only one line.
const smallProgram = "#!/bin/sh\necho started\n"

// ghHelp is the first line of each script that replaces gh. It prints the flags that
// install.sh requires.
const ghHelp = `[ "$*" != "attestation verify --help" ] || { echo "  --source-ref string"; exit; }` + "\n"

// newOffer returns release 1.2.3, which contains a program for the current platform.
func newOffer(t *testing.T, program []byte) (o offer, archive string) {
	t.Helper()
	var packed bytes.Buffer
	zipped, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	files := tar.NewWriter(zipped)
	if err := files.WriteHeader(&tar.Header{Name: "tofu-oci", Mode: 0o755, Size: int64(len(program))}); err != nil {
		t.Fatal(err)
	}
	if _, err := files.Write(program); err != nil {
		t.Fatal(err)
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	archive = fmt.Sprintf("/download/v1.2.3/tofu-oci_1.2.3_%s_%s.tar.gz", runtime.GOOS, runtime.GOARCH)
	sums := fmt.Sprintf("%064x  other.tar.gz\n%x  %s\n", 7, sha256.Sum256(packed.Bytes()), filepath.Base(archive))
	return offer{map[string][]byte{archive: packed.Bytes(), sumsPath: []byte(sums), "/tag/v1.2.3": []byte("the page")}}, archive
}

const sumsPath = "/download/v1.2.3/tofu-oci_1.2.3_SHA256SUMS"

func (o offer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/latest" {
		http.Redirect(w, r, "/tag/v1.2.3", http.StatusFound)
		return
	}
	content, found := o.files[r.URL.Path]
	if !found {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write(content)
}

// installation describes a run of install.sh with its own server and directories.
type installation struct {
	dir, path string
	env       []string
}

func newInstallation(t *testing.T, handler http.Handler) *installation {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	i := &installation{dir: filepath.Join(t.TempDir(), "bin"), path: filepath.Join(t.TempDir(), "programs")}
	i.env = append(os.Environ(), "TOFU_OCI_BASE_URL="+server.URL, "PATH="+i.path+":/usr/bin:/bin", "HOME="+t.TempDir(), "TMPDIR="+t.TempDir(), "GH_TOKEN=")
	return i
}

// program installs a script that takes precedence over the machine's program with the
// same name.
func (i *installation) program(t *testing.T, name, script string) {
	t.Helper()
	write(t, filepath.Join(i.path, name), "#!/bin/sh\n"+script+"\n")
}

func (i *installation) run(t *testing.T, shell string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), shell, append([]string{filepath.Join(programs.root, "install.sh"), "--dir", i.dir}, args...)...)
	cmd.Env = i.env
	return run(cmd)
}

// TestInstall installs the newest release with sh, and a given version with bash.
func TestInstall(t *testing.T) {
	t.Parallel()
	program, err := os.ReadFile(programs.tofuOCI)
	if err != nil {
		t.Fatal(err)
	}
	o, _ := newOffer(t, program)
	out := output(t, exec.CommandContext(t.Context(), programs.tofuOCI, "--version"))
	version, _, _ := strings.Cut(out, "\n")
	for shell, args := range map[string][]string{"sh": nil, "bash": {"--version", "v1.2.3", "--attestation", "skip"}} {
		i := newInstallation(t, o)
		stdout, stderr, err := i.run(t, shell, args...)
		if want := fmt.Sprintf("installed %s/tofu-oci: %s\n", i.dir, version); err != nil || stdout != want {
			t.Fatalf("%s %v: %v, got %q, want %q\n%s", shell, args, err, stdout, want, stderr)
		}
		if warned := strings.Contains(stderr, "only the checksums are verified"); warned != (args == nil) {
			t.Errorf("%s %v: %s", shell, args, stderr)
		}
		if got := output(t, exec.CommandContext(t.Context(), filepath.Join(i.dir, "tofu-oci"), "--version")); got != out {
			t.Errorf("got %q, want %q", got, out)
		}
	}
}

// oldGH replaces gh with a version that does not support attestations, such as the
// version in Ubuntu 24.04.
const oldGH = `[ "$1" = auth ] || { echo "unknown command \"$1\" for \"gh\"" >&2; exit 1; }`

// TestInstallFailsClosed checks that a program that fails verification is not
// installed, and that a previously installed program is kept.
func TestInstallFailsClosed(t *testing.T) {
	t.Parallel()
	const attestationRefused = ghHelp + `[ "$1 $2" = "auth status" ] || exit 1`
	tests := map[string]struct {
		// program is the content of the archive. If program is empty, the archive
		// contains a program that starts successfully.
		program  string
		change   func(o offer, archive string)
		programs map[string]string
		env      string
		args     []string
		want     string
	}{
		"another archive": {change: func(o offer, archive string) { o.files[archive][50] ^= 1 }, want: "has the SHA-256"},
		"half of it":      {change: func(o offer, archive string) { o.files[archive] = o.files[archive][:len(o.files[archive])/2] }, want: "has the SHA-256"},
		"no archive":      {change: func(o offer, archive string) { delete(o.files, archive) }, want: "cannot download"},
		"no checksums":    {change: func(o offer, _ string) { delete(o.files, sumsPath) }, want: "cannot download"},
		"empty checksums": {change: func(o offer, _ string) { o.files[sumsPath] = nil }, want: "does not list"},
		"checksums of others": {
			change: func(o offer, _ string) {
				o.files[sumsPath] = []byte(strings.ReplaceAll(string(o.files[sumsPath]), "tofu-oci_", "tofu_oci_"))
			}, want: "does not list",
		},
		"two checksums": {
			change: func(o offer, _ string) { o.files[sumsPath] = bytes.Repeat(o.files[sumsPath], 2) }, want: "does not list",
		},
		"no releases":                   {change: func(o offer, _ string) { delete(o.files, "/tag/v1.2.3") }, want: "cannot find the newest release"},
		"a version that is none":        {args: []string{"--version", "1.2.3/../../x"}, want: "invalid version"},
		"another version":               {args: []string{"--version", "1.2.4"}, want: "cannot download"},
		"plain HTTP":                    {env: "TOFU_OCI_BASE_URL=http://example.com/releases", want: "is not an https URL"},
		"plain HTTP, by a name":         {env: "TOFU_OCI_BASE_URL=http://127.0.0.1.example.com/releases", want: "is not an https URL"},
		"attestation not fitting":       {programs: map[string]string{"gh": attestationRefused}, want: "cannot verify the attestation"},
		"no gh, and required":           {args: []string{"--attestation", "require"}, want: "--attestation require needs it"},
		"gh without login":              {programs: map[string]string{"gh": "exit 1"}, args: []string{"--attestation", "require"}, want: "not logged in to github.com, but --attestation require needs it"},
		"an old gh":                     {programs: map[string]string{"gh": oldGH}, args: []string{"--attestation", "require"}, want: "gh is too old to verify attestations of a tag, but --attestation require needs it"},
		"a program that does not start": {program: "#!/bin/sh\nexit 1\n", want: "does not start on this machine"},
		"another mode":                  {args: []string{"--attestation", "maybe"}, want: "want auto, require, or skip"},
		"another flag":                  {args: []string{"--force", "x"}, want: "unknown flag --force"},
		"another platform":              {args: []string{"--platform", "plan9_sparc"}, want: "no release for plan9_sparc"},
		"a platform that is not there":  {args: []string{"--platform", "darwin_arm64"}, want: "does not list tofu-oci_1.2.3_darwin_arm64.tar.gz"},
		"to resolve what is none":       {args: []string{"--resolve", "--version", "1 2"}, want: "invalid version"},
		"no value":                      {args: []string{"--version"}, want: "--version is missing its value"},
		"another system":                {programs: map[string]string{"uname": "echo Plan9"}, want: "no release for Plan9"},
		"another machine":               {programs: map[string]string{"uname": `[ "$1" = -s ] && echo Linux || echo mips`}, want: "no release for mips"},
	}
	for name, test := range tests {
		for _, shell := range []string{"sh", "bash"} {
			t.Run(name+" "+shell, func(t *testing.T) {
				t.Parallel()
				o, archive := newOffer(t, []byte(cmp.Or(test.program, smallProgram)))
				if test.change != nil {
					test.change(o, archive)
				}
				i := newInstallation(t, o)
				for program, script := range test.programs {
					i.program(t, program, script)
				}
				if test.env != "" {
					i.env = append(i.env, test.env)
				}
				write(t, filepath.Join(i.dir, "tofu-oci"), "what was there")
				stdout, stderr, err := i.run(t, shell, test.args...)
				if err == nil || stdout != "" || !strings.Contains(stderr, test.want) {
					t.Errorf("%v: got %q and %q, want %q", err, stdout, stderr, test.want)
				}
				entries, err := os.ReadDir(i.dir)
				kept, readErr := os.ReadFile(filepath.Join(i.dir, "tofu-oci"))
				if err != nil || readErr != nil || len(entries) != 1 || string(kept) != "what was there" {
					t.Errorf("%v, %v: %d entries", err, readErr, len(entries))
				}
			})
		}
	}
}

// TestInstallResolves checks the mode in which install.sh only prints the version.
func TestInstallResolves(t *testing.T) {
	t.Parallel()
	o, _ := newOffer(t, []byte(smallProgram))
	i := newInstallation(t, o)
	for want, args := range map[string][]string{"1.2.3\n": {"--resolve"}, "4.5.6-rc.1\n": {"--resolve", "--version", "v4.5.6-rc.1"}} {
		if stdout, stderr, err := i.run(t, "sh", args...); err != nil || stdout != want || stderr != "" {
			t.Errorf("%v: %v, got %q and %q, want %q", args, err, stdout, stderr, want)
		}
	}
	if _, err := os.Stat(i.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s exists: %v", i.dir, err)
	}
}

// TestInstallWithoutCache checks that the installation succeeds if the cache directory
// is not writable.
func TestInstallWithoutCache(t *testing.T) {
	t.Parallel()
	o, _ := newOffer(t, []byte(smallProgram))
	i := newInstallation(t, o)
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "no directory")
	stdout, stderr, err := i.run(t, "sh", "--cache", file)
	if err != nil || !strings.Contains(stdout, "installed ") || !strings.Contains(stderr, "cannot store tofu-oci_1.2.3") {
		t.Errorf("%v: got %q and %q", err, stdout, stderr)
	}
}

// TestInstallVerifiesTheAttestation checks that install.sh verifies the attestation of
// the checksums against the repository, the workflow, and the tag.
func TestInstallVerifiesTheAttestation(t *testing.T) {
	t.Parallel()
	o, _ := newOffer(t, []byte(smallProgram))
	i := newInstallation(t, o)
	calls := filepath.Join(t.TempDir(), "calls")
	i.program(t, "gh", ghHelp+`echo "$GH_HOST: $*" >>`+calls)
	i.env = append(i.env, "GH_HOST=github.example.com")
	if _, stderr, err := i.run(t, "sh", "--attestation", "require"); err != nil || strings.Contains(stderr, "not verified") {
		t.Fatalf("%v\n%s", err, stderr)
	}
	want := regexp.MustCompile(`^\S+: auth status --hostname github\.com
github\.com: attestation verify \S+/tofu-oci_1\.2\.3_SHA256SUMS --repo tofu-oci/tofu-oci --signer-workflow tofu-oci/tofu-oci/\.github/workflows/release\.yml --source-ref refs/tags/v1\.2\.3
$`)
	if got := read(t, calls); !want.MatchString(got) {
		t.Errorf("unexpected arguments of gh:\n%s", got)
	}
}

// TestInstallWithoutAttestation checks that, if gh cannot verify attestations, the
// script prints a message and relies on the checksums.
func TestInstallWithoutAttestation(t *testing.T) {
	t.Parallel()
	for gh, want := range map[string]string{
		oldGH: "gh is too old to verify attestations of a tag; only the checksums are verified", `[ "$1" != auth ] || exit 1`: "gh is not logged in to github.com; only the checksums are verified",
	} {
		o, _ := newOffer(t, []byte(smallProgram))
		i := newInstallation(t, o)
		i.program(t, "gh", gh)
		if stdout, stderr, err := i.run(t, "sh"); err != nil || !strings.Contains(stdout, "installed ") || !strings.Contains(stderr, want) {
			t.Errorf("%v: got %q and %q, want %q", err, stdout, stderr, want)
		}
	}
}

// TestInstallOtherPlatform checks that the script does not start a program that was
// built for a different platform.
func TestInstallOtherPlatform(t *testing.T) {
	t.Parallel()
	o, archive := newOffer(t, []byte("a program of another machine\n"))
	o.files["/download/v1.2.3/tofu-oci_1.2.3_darwin_arm64.tar.gz"] = o.files[archive]
	o.files[sumsPath] = fmt.Appendf(nil, "%x  tofu-oci_1.2.3_darwin_arm64.tar.gz\n", sha256.Sum256(o.files[archive]))
	i := newInstallation(t, o)
	stdout, stderr, err := i.run(t, "sh", "--platform", "darwin_arm64")
	if want := fmt.Sprintf("installed %s/tofu-oci: 1.2.3 for darwin_arm64\n", i.dir); err != nil || stdout != want || strings.Contains(stderr, "start") {
		t.Errorf("%v: got %q and %q, want %q", err, stdout, stderr, want)
	}
}
