package publish_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
)

// sbomOption returns options with an SBOM program, and the directory in which the
// program's calls are recorded.
func sbomOption(t *testing.T, mode string, words ...string) (o publish.Options, dir string) {
	t.Helper()
	dir = t.TempDir()
	program, err := publish.SBOMProgram(commandLine(t, append([]string{"sbom", dir, mode}, words...)...))
	if err != nil {
		t.Fatal(err)
	}
	return publish.Options{SBOM: program}, dir
}

// TestSBOMProgram checks that the program runs once for each package of local builds
// and mirrored releases.
func TestSBOMProgram(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(t *testing.T, w *world, to *target, want publish.Status, o publish.Options){
		"local": func(t *testing.T, w *world, to *target, want publish.Status, o publish.Options) {
			w.publishLocal(t, to, want, w.dist(t, nil, all...), o)
		},
		"mirror": func(t *testing.T, w *world, to *target, want publish.Status, o publish.Options) {
			w.publish(t, to, want, o)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
				o, dir := sbomOption(t, "spdx", "zip={zip}", "{dir}", "{binary}", "{0}")
				o.Platforms = []provider.Platform{haiku, zos}
				run(t, w, to, publish.Created, o)
				checkCalls(t, w, calls(t, dir), haiku, zos)
				run(t, w, to, publish.Unchanged, o)
				o.Platforms = []provider.Platform{minix, zos}
				run(t, w, to, publish.Extended, o)
				checkCalls(t, w, calls(t, dir), haiku, minix, zos)
				r := w.wantStored(t, to, haiku, minix, zos)
				for _, p := range r.Packages {
					want := []string{stem + "_" + p.Platform.String() + ".spdx.json"}
					if diff := cmp.Diff(want, documents(t, r, p.Platform)); diff != "" {
						t.Errorf("%s (-want +got):\n%s", p.Platform, diff)
					}
				}
			})
		})
	}
}

// checkCalls checks that the program ran once for each platform with the documented
// fields.
func checkCalls(t *testing.T, w *world, all []call, want ...provider.Platform) {
	t.Helper()
	var platforms []provider.Platform
	for _, c := range all {
		p := provider.Platform{OS: c.Query["os"], Arch: c.Query["arch"]}
		platforms = append(platforms, p)
		if diff := cmp.Diff([]string{"arch", "binary", "dir", "os", "provider", "version", "zip"}, slices.Sorted(maps.Keys(c.Query))); diff != "" {
			t.Errorf("fields of the query (-want +got):\n%s", diff)
		}
		q := c.Query
		if q["provider"] != originHost+"/acme/thing" || q["version"] != "1.2.3" || filepath.Base(q["zip"]) != w.filename(p) ||
			q["binary"] != filepath.Join(q["dir"], "terraform-provider-thing_v1.2.3") || c.Binary != p.String() {
			t.Errorf("the query is %v, the binary %q", q, c.Binary)
		}
		if diff := cmp.Diff([]string{"zip=" + q["zip"], q["dir"], q["binary"], "{0}"}, c.Args); diff != "" {
			t.Errorf("arguments (-want +got):\n%s", diff)
		}
		if _, err := os.Stat(q["dir"]); !os.IsNotExist(err) {
			t.Errorf("the directory still exists: %v", err)
		}
	}
	if len(all) != len(want) {
		t.Errorf("got %d runs, want %d", len(all), len(want))
	}
	if diff := cmp.Diff(want, provider.SortPlatforms(platforms)); diff != "" {
		t.Errorf("it ran for (-want +got):\n%s", diff)
	}
}

// TestSBOMProgramAfterAMovedTag checks that the program does not run again after the
// tag has moved.
func TestSBOMProgramAfterAMovedTag(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		o, dir := sbomOption(t, "spdx")
		var once sync.Once
		repo := &watched{Repository: to.open(t), before: func(op string, _ digest.Digest) error {
			if op == "tag" {
				once.Do(func() { w.publishLocal(t, to, publish.Created, w.dist(t, nil, zos), publish.Options{}) })
			}
			return nil
		}}
		result, err := w.runLocalOver(t, repo, w.dist(t, nil, haiku), o)
		if err != nil || result.Moved != 1 {
			t.Errorf("%+v, %v", result, err)
		}
		if n := len(calls(t, dir)); n != 1 {
			t.Errorf("got %d runs", n)
		}
		if names := documents(t, w.wantStored(t, to, haiku, zos), haiku); len(names) != 1 {
			t.Errorf("haiku has %v", names)
		}
	})
}

// TestSBOMProgramIsNotNeeded checks that the program does not run if the build already
// contains an SBOM.
func TestSBOMProgramIsNotNeeded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	to := w.layout(t)
	dir := w.dist(t, map[string]string{"_haiku_riscv64.zip.sbom.json": spdx}, haiku)
	w.publishLocal(t, to, publish.Created, dir, publish.Options{SBOM: untouchable})
	if diff := cmp.Diff([]string{stem + "_haiku_riscv64.zip.sbom.json"}, documents(t, w.stored(t, to), haiku)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSBOMProgramWritesCycloneDX checks the media type and file name of a CycloneDX
// SBOM.
func TestSBOMProgramWritesCycloneDX(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	to := w.layout(t)
	o, _ := sbomOption(t, "cyclonedx")
	w.publishLocal(t, to, publish.Created, w.dist(t, nil, haiku), o)
	a := w.stored(t, to).Packages[0].Documents
	if len(a) != 1 || a[0].Name != stem+"_haiku_riscv64.cdx.json" || a[0].MediaType != artifact.MediaTypeCycloneDX {
		t.Errorf("got %v", a)
	}
}

func TestSBOMProgramFails(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]string{
		"fail":      "generating the SBOM for " + stem + "_haiku_riscv64.zip: running publish.test: exit status 1: no catalogers for haiku",
		"text":      "running publish.test: the output is not a JSON object; the output begins with \"text\"",
		"":          "running publish.test: the program printed nothing; expected a JSON object",
		"{}":        "the output of publish.test is neither an SPDX nor a CycloneDX document",
		`{"a":1}{}`: "the output is not a single JSON object",
	} {
		t.Run("output "+mode, func(t *testing.T) {
			t.Parallel()
			eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
				o, _ := sbomOption(t, mode)
				_, err := w.runLocal(t, to, w.dist(t, nil, haiku, zos), o)
				if o.Platforms = []provider.Platform{haiku}; mode == "fail" {
					_, err = w.runLocal(t, to, w.dist(t, nil, haiku), o)
				}
				wantText(t, err, strings.ReplaceAll(want, "publish.test", testProgram(t)), "generating the SBOM for ")
				to.wantTag(t, "")
				if to.has(t, w.zipDigest(haiku)) {
					t.Error("the zip was sent")
				}
			})
		})
	}
}

func testProgram(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Base(self)
}

func TestProgramsAreParsed(t *testing.T) {
	t.Parallel()
	if _, err := publish.SBOMProgram("syft | tee log"); err == nil || !strings.Contains(err.Error(), `command line "syft | tee log"`) {
		t.Errorf("got %v", err)
	}
	if _, err := publish.RepositoryProgram("", "r", "n"); err == nil || !strings.Contains(err.Error(), "contains no program") {
		t.Errorf("got %v", err)
	}
	missing, err := publish.SBOMProgram("no-such-program-anywhere")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, origintest.Options{})
	_, err = w.runLocal(t, w.layout(t), w.dist(t, nil, haiku), publish.Options{SBOM: missing})
	wantText(t, err, `running no-such-program-anywhere: program not found in PATH`)
}

// TestSBOMProgramNeedsAnExecutable checks the error if the package contains no
// executable.
func TestSBOMProgramNeedsAnExecutable(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	to := w.layout(t)
	w.address.Type = "gadget"
	dir := t.TempDir()
	write(t, filepath.Join(dir, provider.Filename(w.address, w.version, haiku)), w.zips[haiku])
	o, _ := sbomOption(t, "spdx")
	_, err := w.runLocal(t, to, dir, o)
	wantText(t, err, "generating the SBOM for terraform-provider-gadget_1.2.3_haiku_riscv64.zip: the package contains no executable terraform-provider-gadget")
	to.wantTag(t, "")
}

// creation configures a program that creates missing repositories. It returns the
// directory in which the program's calls are recorded.
func (to *target) creation(t *testing.T, w *world, mode string) (dir string) {
	t.Helper()
	url := "http://" + plainServer(t, func(rw http.ResponseWriter, r *http.Request) {
		to.registry.Create(repositoryName)
		rw.WriteHeader(http.StatusNoContent)
	})
	dir = t.TempDir()
	create, err := publish.RepositoryProgram(commandLine(t, "create", dir, mode, url, "{registry}", "{repository}"), to.host, repositoryName)
	if err != nil {
		t.Fatal(err)
	}
	to.create = create
	return dir
}

// TestOnMissingRepository checks that the program runs once even if several uploads
// find the repository missing.
func TestOnMissingRepository(t *testing.T) {
	t.Parallel()
	for name, endsConnections := range map[string]bool{"NAME_UNKNOWN": false, "EOF": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, origintest.Options{})
			to := w.registry(t, registrytest.Options{NoCreate: true})
			if endsConnections {
				// The test closes connections until the repository is created.
				to.registry.Misbehave(registrytest.UploadPost, func(rw http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
					if !to.registry.Has(repositoryName) {
						cutOff(rw)
						return
					}
					honest(rw, r)
				}, -1)
			}
			dir := to.creation(t, w, "create")
			w.publishLocal(t, to, publish.Created, w.dist(t, nil, all...), publish.Options{})
			w.wantStored(t, to, all...)
			want := call{Args: []string{to.host, repositoryName}, Query: map[string]string{"registry": to.host, "repository": repositoryName}}
			if diff := cmp.Diff([]call{want}, calls(t, dir)); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			// If the repository exists, the program does not run.
			w.publishLocal(t, to, publish.Unchanged, w.dist(t, nil, all...), publish.Options{})
			if len(calls(t, dir)) != 1 {
				t.Error("the program ran again")
			}
		})
	}
}

// TestOnMissingRepositoryMirror checks that a missing repository is also created for
// a remote source.
func TestOnMissingRepositoryMirror(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	to := w.registry(t, registrytest.Options{NoCreate: true})
	dir := to.creation(t, w, "create")
	w.publish(t, to, publish.Created, publish.Options{})
	if n := len(calls(t, dir)); n != 1 {
		t.Errorf("got %d runs", n)
	}
	if n := w.origin.Requests()[origintest.Zip]; n != len(all) {
		t.Errorf("%d zips were fetched", n)
	}
}

func TestOnMissingRepositoryFails(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]string{
		"fail": "creating the missing repository: running " + testProgram(t) + ": exit status 1: no permission for acme/thing",
		"idle": "404 Not Found, NAME_UNKNOWN",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, origintest.Options{})
			to := w.registry(t, registrytest.Options{NoCreate: true})
			dir := to.creation(t, w, mode)
			_, err := w.runLocal(t, to, w.dist(t, nil, all...), publish.Options{})
			wantText(t, err, want)
			to.wantTag(t, "")
			if n := len(calls(t, dir)); n != 1 {
				t.Errorf("got %d runs", n)
			}
		})
	}
}

// TestMissingRepositoryWithoutAProgram checks that the error contains the registry's
// message.
func TestMissingRepositoryWithoutAProgram(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	to := w.registry(t, registrytest.Options{NoCreate: true})
	_, err := w.runLocal(t, to, w.dist(t, nil, haiku), publish.Options{})
	wantText(t, err, "registry responded with 404 Not Found, NAME_UNKNOWN: The repository with name 'acme' does not exist in the registry")
	to.wantTag(t, "")
}

// TestProgramsGetNoSecrets checks that a program receives no credentials.
func TestProgramsGetNoSecrets(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	to := w.registry(t, registrytest.Options{NoCreate: true, Username: "jane", Password: "secret"})
	to.options.Credential = login("jane", "secret")
	dir := to.creation(t, w, "create")
	w.publishLocal(t, to, publish.Created, w.dist(t, nil, haiku), publish.Options{})
	text, err := json.Marshal(calls(t, dir))
	if err != nil || strings.Contains(string(text), "secret") || !strings.Contains(string(text), repositoryName) {
		t.Errorf("%s, %v", text, err)
	}
}

// TestSBOMProgramAfterAnInterruptedFetch checks that the next attempt doesn't expect the
// size of the content that an interrupted attempt has received.
func TestSBOMProgramAfterAnInterruptedFetch(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	for name, unknownSize := range map[string]bool{"stated size": false, "size by length": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachTarget(t, origintest.Options{NoPackages: unknownSize}, func(t *testing.T, w *world, to *target) {
				o, dir := sbomOption(t, "spdx")
				o.Platforms = []provider.Platform{haiku}
				w.origin.Misbehave(origintest.Zip, origintest.Short(10), 2)
				w.publish(t, to, publish.Created, o)
				if n := len(calls(t, dir)); n != 1 {
					t.Errorf("got %d runs", n)
				}
				w.wantStored(t, to, haiku)
			})
		})
	}
}
