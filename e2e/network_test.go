//go:build unix

package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// networkMirror maps platforms to a version's zips as listed in a network mirror's
// documents.
type networkMirror map[string]struct {
	URL    string
	Hashes []string
}

// TestNetworkMirror compares the output of pull --layout network with the output of
// tofu providers mirror for the same packages. It adds packages to both mirrors. It
// then installs from both mirrors over HTTPS with OpenTofu and Terraform.
func TestNetworkMirror(t *testing.T) {
	t.Parallel()
	for name, noPackages := range map[string]bool{"origin states hashes": false, "origin states no hashes": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, config := serveOrigin(t, origintest.Options{NoPackages: noPackages}, world.release, newerRelease(t))
			layout := "oci-layout:" + filepath.ToSlash(t.TempDir()) + "/{namespace}/{type}"
			run(t, programs.tofuOCI, "mirror", "hashicorp/time", "--all", "--to", layout, "--config", config, "--ca-file", world.caFile)

			// 1. Write the same packages with both programs.
			here, other := provider.CurrentPlatform().String(), "windows_386"
			theirs, ours := t.TempDir(), t.TempDir()
			tofuMirrors(t, config, theirs, here, other)
			pullNetwork(t, layout, ours, fixture.TimeVersion, here, other)
			if their, our := listFiles(t, theirs), listFiles(t, ours); !slices.Equal(their, our) {
				t.Errorf("tofu writes %v, tofu-oci %v", their, our)
			}
			same(t, filepath.Join(theirs, timeDirectory, "index.json"), filepath.Join(ours, timeDirectory, "index.json"))
			compareArchives(t, theirs, ours)

			// 2. Install from our mirror with both clients, and use the provider with
			// OpenTofu.
			installsFromNetwork(t, ours, fixture.TimeVersion)

			// 3. Add a second platform and a second version to tofu's mirror.
			before := readArchives(t, theirs, fixture.TimeVersion)
			pullNetwork(t, layout, theirs, fixture.TimeVersion, "freebsd_amd64")
			pullNetwork(t, layout, theirs, newerVersion, here)
			for platform, archive := range readArchives(t, theirs, fixture.TimeVersion) {
				if platform != "freebsd_amd64" && !reflect.DeepEqual(before[platform], archive) {
					t.Errorf("%s changed from %v to %v", platform, before[platform], archive)
				}
			}
			installsFromNetwork(t, theirs, fixture.TimeVersion)
			installsFromNetwork(t, theirs, newerVersion)

			// 4. Pull the same packages again. pull must keep existing files and merge
			// hashes.
			pullNetwork(t, layout, theirs, fixture.TimeVersion, here, other)
			pullNetwork(t, layout, ours, fixture.TimeVersion, "freebsd_amd64")
			pullNetwork(t, layout, ours, newerVersion, here)
			for _, document := range []string{"index.json", fixture.TimeVersion + ".json", newerVersion + ".json"} {
				same(t, filepath.Join(theirs, timeDirectory, document), filepath.Join(ours, timeDirectory, document))
			}
			// 5. Run tofu on our mirror. tofu assigns the hashes of the version that it
			// mirrors to all versions for the same platform (see computedHashes in
			// OpenTofu's providers_mirror.go). pull must report these wrong hashes.
			// After the affected version's document is moved away, pull must list that
			// version again.
			tofuMirrors(t, config, ours, here)
			installsFromNetwork(t, ours, fixture.TimeVersion)
			out, code := exits(t, "pull", "hashicorp/time@"+newerVersion, "--from", layout, "--dir", ours, "--layout", "network")
			if code != 4 || !strings.Contains(out, newerVersion+".json has a different hash for "+here) {
				t.Errorf("pull exits with %d for the mirror of tofu:\n%s", code, out)
			}
			if err := os.Remove(filepath.Join(ours, timeDirectory, newerVersion+".json")); err != nil {
				t.Fatal(err)
			}
			pullNetwork(t, layout, ours, newerVersion, here)
			installsFromNetwork(t, ours, newerVersion)
		})
	}
}

const timeDirectory = "registry.opentofu.org/hashicorp/time"

// newerRelease returns a newer version of hashicorp/time with different content.
func newerRelease(t *testing.T) origintest.Release {
	t.Helper()
	newer := world.release
	newer.Version, newer.Archives = newerVersion, map[provider.Platform]origintest.Archive{}
	listed := map[string]digest.Digest{}
	for p := range world.release.Archives {
		path := variant(t, "newer", newerVersion, p)
		newer.Archives[p] = origintest.Archive{Path: path}
		listed[filepath.Base(path)] = digestOf(t, path)
	}
	newer.Sums = sums.New(listed).Bytes()
	var key string
	var err error
	if newer.Signature, key, err = fixture.Sign(newer.Sums); err != nil {
		t.Fatal(err)
	}
	newer.Keys = []string{key}
	return newer
}

// tofuMirrors runs tofu providers mirror for the test configuration.
func tofuMirrors(t *testing.T, cliConfig, to string, platforms ...string) {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "main.tf"), mainTF)
	args := []string{"providers", "mirror"}
	for _, p := range platforms {
		args = append(args, "-platform="+p)
	}
	tofu(t, dir, cliConfig, append(args, to)...)
}

func pullNetwork(t *testing.T, from, dir, version string, platforms ...string) {
	t.Helper()
	args := []string{"pull", "hashicorp/time@" + version, "--from", from, "--dir", dir, "--layout", "network"}
	for _, p := range platforms {
		args = append(args, "--platform", p)
	}
	run(t, programs.tofuOCI, args...)
}

// installsFromNetwork serves a directory like a web server, and installs from it with
// OpenTofu and Terraform.
func installsFromNetwork(t *testing.T, mirror, version string) {
	t.Helper()
	url, stop, err := fixture.Serve(t.Context(), world.ca, http.FileServer(http.Dir(mirror)))
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	cliConfig := filepath.Join(t.TempDir(), "tofurc")
	write(t, cliConfig, fmt.Sprintf("provider_installation {\n  network_mirror {\n    url = \"%s/\"\n  }\n}\n", url))
	hashes := readArchives(t, mirror, version)[provider.CurrentPlatform().String()].Hashes
	// Terraform's default host differs from OpenTofu's.
	text := strings.NewReplacer(fixture.TimeVersion, version, "hashicorp/time", timeDirectory).Replace(mainTF)
	for _, client := range []string{programs.tofu, programs.terraform} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "main.tf"), text)
		for _, args := range [][]string{{"init", "-input=false", "-no-color"}, {"apply", "-input=false", "-no-color", "-auto-approve"}} {
			cmd := command(t, client, args...)
			cmd.Dir, cmd.Env = dir, append(cmd.Env, "TF_CLI_CONFIG_FILE="+cliConfig)
			output(t, cmd)
		}
		for _, hash := range hashes {
			// Terraform 1.5 locks only the h1 hash.
			if client == programs.tofu || strings.HasPrefix(hash, "h1:") {
				checkLock(t, dir, hash)
			}
		}
	}
}

// compareArchives checks that both mirrors contain the same zips, and that our mirror
// lists all hashes that their mirror lists.
func compareArchives(t *testing.T, theirs, ours string) {
	t.Helper()
	their, our := readArchives(t, theirs, fixture.TimeVersion), readArchives(t, ours, fixture.TimeVersion)
	if len(their) != 2 || len(our) != 2 {
		t.Errorf("tofu lists %d platforms and tofu-oci %d, want 2", len(their), len(our))
	}
	for platform, archive := range their {
		if got := our[platform].URL; got != archive.URL {
			t.Errorf("%s: tofu has the URL %q, tofu-oci %q", platform, archive.URL, got)
		}
		same(t, filepath.Join(theirs, timeDirectory, archive.URL), filepath.Join(ours, timeDirectory, archive.URL))
		for _, hash := range archive.Hashes {
			if !slices.Contains(our[platform].Hashes, hash) {
				t.Errorf("tofu lists %s for %s, tofu-oci %s", hash, platform, our[platform].Hashes)
			}
		}
	}
}

func readArchives(t *testing.T, mirror, version string) networkMirror {
	t.Helper()
	var list struct{ Archives networkMirror }
	if err := json.Unmarshal([]byte(readFile(t, filepath.Join(mirror, timeDirectory, version+".json"))), &list); err != nil {
		t.Fatal(err)
	}
	return list.Archives
}

func same(t *testing.T, theirs, ours string) {
	t.Helper()
	if readFile(t, theirs) != readFile(t, ours) {
		t.Errorf("%s differs from %s", ours, theirs)
	}
}

// listFiles returns the paths of all files below a directory, except tofu-oci's lock
// files.
func listFiles(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && entry.Name() != ".tofu-oci.lock" {
			name, _ := filepath.Rel(dir, path)
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
