//go:build release

package release_test

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// released lists the files of a release, including the files for package managers. X
// represents the version.
var released = []string{
	"tofu-oci_X_darwin_amd64.tar.gz", "tofu-oci_X_darwin_amd64.tar.gz.spdx.json", "tofu-oci_X_darwin_arm64.tar.gz", "tofu-oci_X_darwin_arm64.tar.gz.spdx.json",
	"tofu-oci_X_linux_amd64.tar.gz", "tofu-oci_X_linux_amd64.tar.gz.spdx.json", "tofu-oci_X_linux_arm64.tar.gz", "tofu-oci_X_linux_arm64.tar.gz.spdx.json",
	"tofu-oci_X_windows_amd64.zip", "tofu-oci_X_windows_amd64.zip.spdx.json", "tofu-oci_X_windows_arm64.zip", "tofu-oci_X_windows_arm64.zip.spdx.json",
	"tofu-oci_X_amd64.deb", "tofu-oci_X_arm64.deb", "tofu-oci-X-1.x86_64.rpm", "tofu-oci-X-1.aarch64.rpm", "tofu-oci_X_x86_64.apk", "tofu-oci_X_aarch64.apk",
}

var forManagers = []string{
	"homebrew/Casks/tofu-oci.rb", "scoop/tofu-oci.json", "nix/pkgs/tofu-oci/default.nix", "aur/tofu-oci-bin.pkgbuild", "aur/tofu-oci-bin.srcinfo",
	"winget/manifests/t/tofu-oci/tofu-oci/X/tofu-oci.tofu-oci.yaml", "winget/manifests/t/tofu-oci/tofu-oci/X/tofu-oci.tofu-oci.installer.yaml", "winget/manifests/t/tofu-oci/tofu-oci/X/tofu-oci.tofu-oci.locale.en-US.yaml",
}

// TestRelease builds the same release twice with the real goreleaser, in directories
// with different names, and checks the release's content.
func TestRelease(t *testing.T) {
	t.Parallel()
	first := snapshot(t, "a", "RELEASED=")
	digests := digestsOf(t, first)
	t.Run("files", func(t *testing.T) { t.Parallel(); testFiles(t, digests) })
	t.Run("checksums", func(t *testing.T) { t.Parallel(); testChecksums(t, first, digests) })
	t.Run("archives", func(t *testing.T) { t.Parallel(); testArchives(t, first) })
	t.Run("deb", func(t *testing.T) { t.Parallel(); testDeb(t, first) })
	t.Run("rpm and apk", func(t *testing.T) { t.Parallel(); testOtherPackages(t, first) })
	t.Run("managers", func(t *testing.T) { t.Parallel(); testManagers(t, first, digests) })
	t.Run("again", func(t *testing.T) {
		t.Parallel()
		// The second build uses the variable of the job that updates the package
		// managers after a release.
		again := digestsOf(t, snapshot(t, "another-directory", "RELEASED=true"))
		// The WinGet installer manifest contains the build date and lists the archives
		// in the order in which goreleaser completed them.
		notAlike := cmpopts.IgnoreMapEntries(func(name, _ string) bool { return strings.HasSuffix(name, "/tofu-oci.tofu-oci.installer.yaml") })
		if diff := cmp.Diff(digests, again, notAlike); diff != "" {
			t.Errorf("a second build in another directory differs (-first +second)\n%s", diff)
		}
	})
}

// snapshotVersion is the version that goreleaser assigns to a snapshot of the tag
// v1.2.3. Package formats spell this version differently.
const snapshotVersion = "1.2.3-next"

// snapshot builds a release from the content of the checkout, and returns the output
// directory. The content is in a new repository with a single commit, whose date is
// fixed. variable is an additional environment variable.
func snapshot(t *testing.T, name, variable string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com",
		"GIT_AUTHOR_DATE=2026-08-01T12:00:00Z", "GIT_COMMITTER_DATE=2026-08-01T12:00:00Z", "PATH="+filepath.Dir(programs.syft)+":"+os.Getenv("PATH"), "GITHUB_TOKEN=", "PACKAGES_TOKEN=", "AUR_KEY=", variable)
	for _, command := range [][]string{
		{"sh", "-c", `cd "$1" && git ls-files -z --cached --others --exclude-standard | xargs -0 sh -c 'for f; do [ ! -f "$f" ] || cp -p --parents "$f" "$0"; done' "$2"`, "sh", programs.root, dir},
		{"git", "init", "-q", "-b", "main"},
		{"git", "remote", "add", "origin", "https://github.com/tofu-oci/tofu-oci.git"},
		{"git", "add", "-A"},
		{"git", "commit", "-q", "-m", "A release"},
		{"git", "tag", "v1.2.3"},
		{programs.goreleaser, "check"},
		{programs.goreleaser, "release", "--snapshot", "--clean", "--skip=docker"},
	} {
		cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
		cmd.Dir, cmd.Env = dir, env
		output(t, cmd)
	}
	return filepath.Join(dir, "dist")
}

// digestsOf returns the SHA-256 digests of all published files. It excludes
// goreleaser's metadata and the programs outside the archives.
func digestsOf(t *testing.T, dist string) map[string]string {
	t.Helper()
	digests := map[string]string{}
	err := filepath.WalkDir(dist, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dist, path)
		if err != nil || entry.IsDir() || slices.Contains([]string{"config.yaml", "metadata.json", "artifacts.json"}, name) || strings.HasPrefix(filepath.Base(name), "tofu-oci") && !strings.Contains(filepath.Base(name), ".") {
			return err
		}
		content, err := os.ReadFile(path)
		digest := sha256.Sum256(content)
		digests[name] = hex.EncodeToString(digest[:])
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return digests
}

func testFiles(t *testing.T, digests map[string]string) {
	t.Helper()
	want := []string{"tofu-oci_" + snapshotVersion + "_SHA256SUMS"}
	for _, name := range slices.Concat(released, forManagers) {
		want = append(want, fileName(name))
	}
	slices.Sort(want)
	got := slices.Sorted(maps.Keys(digests))
	got = slices.DeleteFunc(got, func(name string) bool { return strings.HasSuffix(name, "tofu-oci.exe") })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// fileName replaces X with the version in the format of the package type.
func fileName(name string) string {
	switch filepath.Ext(name) {
	case ".deb", ".rpm":
		return strings.ReplaceAll(name, "X", strings.Replace(snapshotVersion, "-", "~", 1))
	case ".apk":
		return strings.ReplaceAll(name, "X", strings.Replace(snapshotVersion, "-", "_", 1))
	}
	return strings.ReplaceAll(name, "X", snapshotVersion)
}

func testChecksums(t *testing.T, dist string, digests map[string]string) {
	t.Helper()
	got := map[string]string{}
	for line := range strings.Lines(read(t, dist, "tofu-oci_"+snapshotVersion+"_SHA256SUMS")) {
		fields := strings.Fields(line)
		if len(fields) != 2 {
			t.Fatalf("unexpected line %q", line)
		}
		got[fields[1]] = fields[0]
	}
	want := map[string]string{}
	for _, name := range released {
		want[fileName(name)] = digests[fileName(name)]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// testManagers checks that the files for package managers contain the digests of the
// archives.
func testManagers(t *testing.T, dist string, digests map[string]string) {
	t.Helper()
	for path, archives := range map[string][]string{
		"homebrew/Casks/tofu-oci.rb": {"darwin_amd64.tar.gz", "darwin_arm64.tar.gz", "linux_amd64.tar.gz", "linux_arm64.tar.gz"},
		"scoop/tofu-oci.json":        {"windows_amd64.zip", "windows_arm64.zip"},
		"aur/tofu-oci-bin.pkgbuild":  {"linux_amd64.tar.gz", "linux_arm64.tar.gz"},
		"winget/manifests/t/tofu-oci/tofu-oci/" + snapshotVersion + "/tofu-oci.tofu-oci.installer.yaml": {"windows_amd64.zip", "windows_arm64.zip"},
	} {
		text := strings.ToLower(read(t, dist, path))
		for _, archive := range archives {
			if digest := digests["tofu-oci_"+snapshotVersion+"_"+archive]; digest == "" || !strings.Contains(text, digest) {
				t.Errorf("%s does not have the digest of %s:\n%s", path, archive, text)
			}
		}
	}
	cask := read(t, dist, "homebrew", "Casks", "tofu-oci.rb")
	for _, page := range manualPages(t) {
		if !strings.Contains(cask, `manpage "man/`+page+`.gz"`) {
			t.Errorf("the cask omits %s: add it to .goreleaser.yaml", page)
		}
	}
	for _, system := range []string{"x86_64-linux", "aarch64-linux", "x86_64-darwin", "aarch64-darwin"} {
		if nix := read(t, dist, "nix", "pkgs", "tofu-oci", "default.nix"); !strings.Contains(nix, system) || !strings.Contains(nix, "installShellCompletion") {
			t.Errorf("the Nix package does not support %s:\n%s", system, nix)
		}
	}
}

// manualPages returns the file names of the program's manual pages.
func manualPages(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	output(t, exec.CommandContext(t.Context(), programs.tofuOCI, "man", "--dir", dir))
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
