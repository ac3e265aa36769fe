package tofuoci_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/internal/testing/testca"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// TestLibrary builds the code in docs/library.md in a separate module, which cannot
// import internal packages, and mirrors a release with the program.
func TestLibrary(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	ca, err := testca.New()
	if err != nil {
		t.Fatal(err)
	}
	program := buildLibrary(t)
	origin := origintest.New(origintest.Options{})
	platform := provider.Platform{OS: "hurd", Arch: "ia64"}
	err = origin.Add(t.Context(), origintest.Release{
		Namespace: "acme", Type: "rocket", Version: "1.2.3",
		Archives: map[provider.Platform]origintest.Archive{platform: {Bytes: zipOf(t, "terraform-provider-rocket", "a program")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	host := registrytest.Serve(t, ca, origin)

	dir := t.TempDir()
	roots := filepath.Join(dir, "ca.pem")
	write(t, roots, string(ca.PEM()))
	cmd := exec.CommandContext(t.Context(), program, host+"/acme/rocket")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GODEBUG=x509usefallbackroots=1", "TEST_ROOTS="+roots)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if want := host + "/acme/rocket 1.2.3 created "; !strings.HasPrefix(string(out), want) {
		t.Errorf("the program says %q, want %q…", out, want)
	}
	checkLibraryFails(t, program, dir, roots, host+"/acme/none")
	checkLibraryFails(t, program, dir, roots, host+"/acme/rocket@9.9.9")
	layout := repository.NewLayout(filepath.Join(dir, "mirror", "acme", "rocket"))
	found, err := repository.Inspect(t.Context(), layout, "1.2.3", repository.DepthBlobs)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]provider.Platform{platform}, found.Index.Platforms()); diff != "" || !found.Platforms[platform].IsIntact() {
		t.Errorf("the release in the layout, -want +got:\n%s%+v", diff, found)
	}
}

// TestLibraryNames checks that all names on docs/library.md are declared in the library.
func TestLibraryNames(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile("`\\*?([a-z]+)\\.([A-Z]\\w+)(?:\\.([A-Z]\\w+))?`").FindAllStringSubmatch(read(t, filepath.Join("docs", "library.md")), -1)
	if len(named) < 30 {
		t.Errorf("found only %d names", len(named))
	}
	for _, match := range named {
		at := slices.IndexFunc(listedPackages(t), func(p string) bool { return strings.HasPrefix(p, "pkg/") && filepath.Base(p) == match[1] })
		declaration := regexp.MustCompile(`(?m)^(func |type |\t|var )` + match[2] + `\b`)
		if match[3] != "" {
			declaration = regexp.MustCompile(`(?m)^func \(\w* ?\*?` + match[2] + `\) ` + match[3] + `\b`)
		}
		if match[1] != "errors" && (at < 0 || !declares(t, listedPackages(t)[at], declaration)) {
			t.Errorf("docs/library.md names %s, which is not there", match[0])
		}
	}
}

// declares reports whether a file of a package matches a pattern.
func declares(t *testing.T, dir string, declaration *regexp.Regexp) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.FromSlash(dir), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(file string) bool {
		return !strings.HasSuffix(file, "_test.go") && declaration.MatchString(read(t, file))
	})
}

// checkLibraryFails checks that the program exits with an error if a provider fails.
func checkLibraryFails(t *testing.T, program, dir, roots, requirement string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, requirement)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GODEBUG=x509usefallbackroots=1", "TEST_ROOTS="+roots)
	out, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 1 || !strings.Contains(string(out), "not found") {
		t.Errorf("%v\n%s", err, out)
	}
}

var goBlock = regexp.MustCompile("(?s)```go\n(.*?)```")

// buildLibrary builds the program in the first code block of docs/library.md, together
// with the functions in the other blocks.
func buildLibrary(t *testing.T) (program string) {
	t.Helper()
	text := read(t, filepath.Join("docs", "library.md"))
	blocks := goBlock.FindAllStringSubmatch(text, -1)
	if len(blocks) < 2 {
		t.Fatalf("docs/library.md has %d blocks of Go", len(blocks))
	}
	var functions strings.Builder
	for _, block := range blocks[1:] {
		functions.WriteString(block[1] + "\n")
	}
	checkout, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	// With the versions in this module's go.mod and go.sum, the build works offline.
	path := strings.TrimSuffix(module, "/")
	mod := strings.Replace(read(t, "go.mod"), "module "+path, "module example.com/library", 1) +
		fmt.Sprintf("\nrequire %s v0.0.0\nreplace %s => %q\n", path, path, filepath.ToSlash(checkout))

	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), mod)
	write(t, filepath.Join(dir, "go.sum"), read(t, "go.sum"))
	write(t, filepath.Join(dir, "main.go"), blocks[0][1])
	write(t, filepath.Join(dir, "functions.go"), importing(t, functions.String())+functions.String())
	write(t, filepath.Join(dir, "roots.go"), trustRoots)
	program = filepath.Join(dir, "library.exe")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// trustRoots makes the program trust the test authority on every system. macOS and
// Windows ignore SSL_CERT_FILE.
const trustRoots = `package main

import (
	"crypto/x509"
	"os"
)

func init() {
	pem, err := os.ReadFile(os.Getenv("TEST_ROOTS"))
	if err != nil {
		panic(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	x509.SetFallbackRoots(pool)
}
`

// importing returns the start of a file with imports of the packages that the text
// uses.
func importing(t *testing.T, text string) string {
	t.Helper()
	paths := []string{"context", "errors", "fmt", "os", "path/filepath", "strings"}
	for _, name := range listedPackages(t) {
		if strings.HasPrefix(name, "pkg/") {
			paths = append(paths, module+name)
		}
	}
	slices.Sort(paths)
	head := "package main\n\nimport (\n"
	for _, path := range paths {
		if regexp.MustCompile(`\b` + path[strings.LastIndex(path, "/")+1:] + `\.[A-Z]`).MatchString(text) {
			head += "\t\"" + path + "\"\n"
		}
	}
	return head + ")\n\n"
}

// zipOf returns a zip with one file.
func zipOf(t *testing.T, name, content string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, err := w.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(data), "\r\n", "\n")
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
