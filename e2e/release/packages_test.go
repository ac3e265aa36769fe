//go:build release

package release_test

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"debug/buildinfo"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"text/template"

	"go.yaml.in/yaml/v4"
)

// testArchives checks that each archive contains the program for its platform and the
// accompanying files, and that the program contains no information about the build
// machine.
func testArchives(t *testing.T, dist string) {
	t.Helper()
	for _, platform := range []string{"linux_amd64", "linux_arm64", "darwin_amd64", "darwin_arm64"} {
		path := filepath.Join(dist, "tofu-oci_"+snapshotVersion+"_"+platform+".tar.gz")
		programOf(t, platform, "tofu-oci", tarFiles(t, path))
	}
	for _, platform := range []string{"windows_amd64", "windows_arm64"} {
		files := map[string][]byte{}
		archive, err := zip.OpenReader(filepath.Join(dist, "tofu-oci_"+snapshotVersion+"_"+platform+".zip"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.File {
			content, err := f.Open()
			if err == nil {
				files[f.Name], err = io.ReadAll(content)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		_ = archive.Close()
		programOf(t, platform, "tofu-oci.exe", files)
	}
}

func programOf(t *testing.T, platform, name string, files map[string][]byte) {
	t.Helper()
	for _, wanted := range []string{"LICENSE", "README.md", "CHANGELOG.md", "completions/tofu-oci.bash", "completions/_tofu-oci", "completions/tofu-oci.fish", "completions/tofu-oci.ps1", "man/tofu-oci.1.gz", "man/tofu-oci-mirror.1.gz"} {
		if len(files[wanted]) == 0 {
			t.Errorf("%s: missing %s", platform, wanted)
		}
	}
	program := filepath.Join(t.TempDir(), name)
	write(t, program, string(files[name]))
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	settings := map[string]string{}
	for _, setting := range info.Settings {
		settings[setting.Key] = setting.Value
	}
	if got := settings["GOOS"] + "_" + settings["GOARCH"]; got != platform || settings["CGO_ENABLED"] != "0" || settings["-trimpath"] != "true" || settings["vcs"] != "" {
		t.Errorf("%s: built as %v", platform, settings)
	}
	for _, place := range []string{programs.root, "/TestRelease"} {
		if strings.Contains(string(files[name]), place) {
			t.Errorf("the program for %s contains the path %s", platform, place)
		}
	}
	if platform == runtime.GOOS+"_"+runtime.GOARCH {
		saysVersion(t, program)
	}
}

// builtAs matches the version output of the snapshot's program. The program is built
// without VCS information.
var builtAs = regexp.MustCompile(`^tofu-oci version ` + regexp.QuoteMeta(snapshotVersion) + `
commit    [0-9a-f]{40}
date      2026-08-01T12:00:00Z
go        go1[.].*
platform  ` + runtime.GOOS + `_` + runtime.GOARCH + `
$`)

func saysVersion(t *testing.T, program string) {
	t.Helper()
	if got := output(t, exec.CommandContext(t.Context(), program, "--version")); !builtAs.MatchString(got) {
		t.Errorf("got %q", got)
	}
}

// tarFiles returns the files in a compressed archive. An apk file consists of several
// archives.
func tarFiles(t *testing.T, path string) map[string][]byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for archive := tar.NewReader(unzipped); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Uid != 0 || header.Gid != 0 || header.ModTime.UTC().Format("2006-01-02") != "2026-08-01" && header.Name != ".PKGINFO" {
			t.Errorf("%s: %s has user %d, group %d, time %s", filepath.Base(path), header.Name, header.Uid, header.Gid, header.ModTime)
		}
		if files[header.Name], err = io.ReadAll(archive); err != nil {
			t.Fatal(err)
		}
	}
}

// installed lists the paths of the files that packages install, except for the zsh
// completions.
var installed = []string{
	"usr/bin/tofu-oci", "usr/share/bash-completion/completions/tofu-oci", "usr/share/doc/tofu-oci/copyright",
	"usr/share/fish/vendor_completions.d/tofu-oci.fish", "usr/share/man/man1/tofu-oci.1.gz", "usr/share/man/man1/tofu-oci-mirror.1.gz",
}

// testDeb installs the package with the real dpkg, runs the program, and removes the
// package completely. If the user can't install packages on this system, testDeb
// installs the package below a directory.
func testDeb(t *testing.T, dist string) {
	t.Helper()
	root, dpkg := "/", []string{"dpkg"}
	if os.Geteuid() != 0 {
		root = t.TempDir()
		admin := filepath.Join(root, "var", "lib", "dpkg")
		if err := os.MkdirAll(filepath.Join(admin, "updates"), 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{filepath.Join("info", "format"): "1\n", "status": "", "available": ""} {
			write(t, filepath.Join(admin, name), text)
		}
		dpkg = append(dpkg, "--root="+root, "--force-not-root", "--force-bad-path", "--log=/dev/null")
	} else if _, err := os.Stat("/usr/bin/tofu-oci"); err == nil {
		t.Fatal("a package of tofu-oci is installed: remove it first")
	}
	do := func(args ...string) {
		t.Helper()
		cmd := slices.Concat(dpkg, args)
		output(t, exec.CommandContext(t.Context(), cmd[0], cmd[1:]...))
	}
	do("-i", filepath.Join(dist, fileName("tofu-oci_X_"+runtime.GOARCH+".deb")))
	places := append(slices.Clone(installed), "usr/share/zsh/vendor-completions/_tofu-oci")
	for _, place := range places {
		if _, err := os.Stat(filepath.Join(root, place)); err != nil {
			t.Error(err)
		}
	}
	saysVersion(t, filepath.Join(root, installed[0]))
	if got := strings.TrimSpace(output(t, manual(t, filepath.Join(root, "usr", "share", "man"), "-w", "tofu-oci-mirror"))); !strings.HasSuffix(got, "/man1/tofu-oci-mirror.1.gz") {
		t.Errorf("unexpected result of man: %q", got)
	}
	bash := exec.CommandContext(t.Context(), "bash", "--norc", "-c", `source "$1" && complete -p tofu-oci`, "bash", filepath.Join(root, places[1]))
	if got := output(t, bash); got != "complete -F _tofu_oci tofu-oci\n" {
		t.Errorf("got %q", got)
	}
	do("-r", "tofu-oci")
	for _, place := range places {
		if _, err := os.Stat(filepath.Join(root, place)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s still exists: %v", place, err)
		}
	}
}

// testOtherPackages checks the files in the rpm and apk packages.
func testOtherPackages(t *testing.T, dist string) {
	t.Helper()
	places := append(slices.Clone(installed), "usr/share/zsh/site-functions/_tofu-oci")
	for arch, machine := range map[string]string{"amd64": "x86_64", "arm64": "aarch64"} {
		files := tarFiles(t, filepath.Join(dist, fileName("tofu-oci_X_"+machine+".apk")))
		if info := string(files[".PKGINFO"]); !strings.Contains(info, "\narch = "+machine+"\n") || !strings.Contains(info, "\nlicense = Apache-2.0\n") {
			t.Errorf("apk of %s:\n%s", arch, info)
		}
		rpm := filepath.Join(dist, fileName("tofu-oci-X-1."+machine+".rpm"))
		listed := strings.Fields(output(t, exec.CommandContext(t.Context(), "rpm", "-qlp", rpm)))
		if got := output(t, exec.CommandContext(t.Context(), "rpm", "-qp", "--queryformat", "%{NAME} %{ARCH} %{LICENSE} %{BUILDHOST}", rpm)); got != "tofu-oci "+machine+" Apache-2.0 localhost" {
			t.Errorf("rpm of %s: %s", arch, got)
		}
		for _, place := range places {
			if len(files[place]) == 0 || !slices.Contains(listed, "/"+place) {
				t.Errorf("%s: apk has %d bytes of %s, rpm lists %v", arch, len(files[place]), place, listed)
			}
		}
	}
}

// TestAqua checks that the registry of aqua names the archives and the checksums of a
// release, and the workflow that attests them.
func TestAqua(t *testing.T) {
	t.Parallel()
	var registry struct {
		Packages []struct {
			Asset, Format string
			Overrides     []struct{ Goos, Format string }
			Checksum      struct{ Asset string }
			Attestations  struct {
				Workflow string `yaml:"signer_workflow"`
			} `yaml:"github_artifact_attestations"`
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, programs.root, "deploy", "aqua.yaml")), &registry); err != nil || len(registry.Packages) != 1 {
		t.Fatalf("%d packages, %v", len(registry.Packages), err)
	}
	p := registry.Packages[0]
	name := func(asset, goos, goarch, format string) string {
		var name strings.Builder
		functions := template.FuncMap{"trimV": func(v string) string { return strings.TrimPrefix(v, "v") }}
		if err := template.Must(template.New("").Funcs(functions).Parse(asset)).Execute(&name, map[string]string{"Version": "vX", "OS": goos, "Arch": goarch, "Format": format}); err != nil {
			t.Fatal(err)
		}
		return name.String()
	}
	for _, goos := range []string{"linux", "darwin", "windows"} {
		format := p.Format
		for _, o := range p.Overrides {
			if o.Goos == goos {
				format = o.Format
			}
		}
		for _, goarch := range []string{"amd64", "arm64"} {
			if asset := name(p.Asset, goos, goarch, format); !slices.Contains(released, asset) {
				t.Errorf("a release does not contain %s", asset)
			}
		}
	}
	if sums := name(p.Checksum.Asset, "", "", ""); sums != "tofu-oci_X_SHA256SUMS" {
		t.Errorf("unexpected checksums %s", sums)
	}
	if p.Attestations.Workflow != "tofu-oci/tofu-oci/.github/workflows/release.yml" {
		t.Errorf("unexpected workflow %q", p.Attestations.Workflow)
	}
}
