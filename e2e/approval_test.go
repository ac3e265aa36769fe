package e2e_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// badVersion is the version that the tests deny or leave pending.
const badVersion = "0.14.1"

// badRelease returns the release badVersion of hashicorp/time for the current platform.
func badRelease(t *testing.T) origintest.Release {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create("terraform-provider-time_v" + badVersion)
	if err == nil {
		_, err = w.Write([]byte("not good enough"))
	}
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	r := world.release
	r.Version, r.Sums, r.Signature = badVersion, nil, nil
	r.Archives = map[provider.Platform]origintest.Archive{provider.CurrentPlatform(): {Bytes: b.Bytes()}}
	return r
}

// TestTofuInstallsPromotedRelease checks that OpenTofu ignores a pending release, and
// installs the release after it is promoted.
func TestTofuInstallsPromotedRelease(t *testing.T) {
	t.Parallel()
	_, config := serveOrigin(t, origintest.Options{}, world.release, badRelease(t))
	to := startRegistry(t) + "/mirror/{namespace}/{type}"
	flags := []string{"--to", to, "--config", config, "--ca-file", world.caFile, "--output", "json"}
	staged := parse(t, run(t, programs.tofuOCI, append([]string{"mirror", "hashicorp/time", "--stage"}, flags...)...))
	installation := run(t, programs.tofuOCI, "tofurc", to)
	if out := initializeInVain(t, installation); !strings.Contains(out, "registry.opentofu.org/hashicorp/time was not found") {
		t.Errorf("unexpected output of tofu init:\n%s", out)
	}
	promoted := parse(t, run(t, programs.tofuOCI, append([]string{"promote", "hashicorp/time"}, flags...)...))
	if got := promoted.Items[0]; got.Status != "promoted" || got.Digest != staged.Items[0].Digest {
		t.Errorf("got %+v, want the staged digest %s", got, staged.Items[0].Digest)
	}
	dir, cli := initialize(t, installation)
	zh, h1 := promoted.hashes(t)
	checkLock(t, dir, zh)
	checkLock(t, dir, h1)
	tofu(t, dir, cli, "apply", "-input=false", "-no-color", "-auto-approve")
	if tags := tagsOf(t, to); strings.Join(tags, " ") != fixture.TimeVersion {
		t.Errorf("unexpected tags %q", tags)
	}

	// A denied release never becomes visible.
	run(t, programs.tofuOCI, append([]string{"mirror", "hashicorp/time@" + badVersion, "--stage"}, flags...)...)
	run(t, programs.tofuOCI, append([]string{"deny", "hashicorp/time@" + badVersion, "--reason", "not good enough"}, flags...)...)
	again := parse(t, run(t, programs.tofuOCI, append([]string{"mirror", "hashicorp/time@<= " + badVersion, "--stage"}, flags...)...))
	if got := again.Items[0].Status; got != "denied" {
		t.Errorf("unexpected result of the second staging: %s", got)
	}
	initialize(t, installation)
}

// TestTofuSkipsDeniedVersion checks that OpenTofu installs the next older version after
// a version is denied. Later mirror runs must succeed and must not mirror the denied
// version again.
func TestTofuSkipsDeniedVersion(t *testing.T) {
	t.Parallel()
	const denied, older = fixture.TimeVersion, badVersion
	_, config := serveOrigin(t, origintest.Options{}, world.release, badRelease(t))
	to := startRegistry(t) + "/mirror/{namespace}/{type}"
	flags := []string{"--to", to, "--config", config, "--ca-file", world.caFile}
	nightly := append([]string{"mirror", "hashicorp/time", "--all"}, flags...)
	run(t, programs.tofuOCI, nightly...)
	installation := run(t, programs.tofuOCI, "tofurc", to)
	install := func() (dir string) {
		dir, cli := t.TempDir(), filepath.Join(t.TempDir(), "tofurc")
		write(t, filepath.Join(dir, "main.tf"), "terraform {\n  required_providers {\n    time = { source = \"hashicorp/time\" }\n  }\n}\n")
		write(t, cli, installation)
		tofu(t, dir, cli, "init", "-input=false", "-no-color")
		return dir
	}
	before := install()
	run(t, programs.tofuOCI, append([]string{"deny", "hashicorp/time@" + denied, "--reason", "not good enough"}, flags...)...)

	out := run(t, programs.tofuOCI, append(nightly, "--verbose")...)
	if !strings.Contains(out, denied+" denied ") || !strings.Contains(out, older+" unchanged ") {
		t.Errorf("unexpected output of the nightly run:\n%s", out)
	}
	if tags := tagsOf(t, to); slices.Contains(tags, denied) || !slices.Contains(tags, "denied-"+denied) {
		t.Errorf("unexpected tags %q", tags)
	}
	for dir, want := range map[string]string{before: denied, install(): older} {
		locked, err := os.ReadFile(filepath.Join(dir, ".terraform.lock.hcl"))
		if err != nil || !strings.Contains(string(locked), strconv.Quote(want)) {
			t.Errorf("%v, want %s in the lock file:\n%s", err, want, locked)
		}
	}
	check := command(t, programs.tofuOCI, "lock", "--check", "--root", before, "--from", to, "--ca-file", world.caFile)
	if out, err := check.Output(); exitCode(err) != 4 || !strings.Contains(string(out), "[lock-version-denied]") {
		t.Errorf("lock --check: %v\n%s", err, out)
	}
}

// TestTofuRefusesOverwrittenVersion checks what OpenTofu does if the tag of a denied version
// points to an empty index, because the registry doesn't delete tags: it finds the version,
// but installs nothing.
func TestTofuRefusesOverwrittenVersion(t *testing.T) {
	t.Parallel()
	_, config := serveOrigin(t, origintest.Options{}, world.release, badRelease(t))
	to := strings.TrimPrefix(serve(t, registrytest.New(registrytest.Options{NoDelete: http.StatusMethodNotAllowed})), "https://") + "/mirror/{namespace}/{type}"
	flags := []string{"--to", to, "--config", config, "--ca-file", world.caFile}
	run(t, programs.tofuOCI, append([]string{"mirror", "hashicorp/time", "--all"}, flags...)...)
	run(t, programs.tofuOCI, append([]string{"deny", "hashicorp/time@" + fixture.TimeVersion, "--reason", "not good enough", "--overwrite"}, flags...)...)
	installation := run(t, programs.tofuOCI, "tofurc", to)
	for version, want := range map[string]string{
		">= " + badVersion:         "hashicorp/time v" + fixture.TimeVersion + ": provider image manifest has unsupported artifact type",
		fixture.TimeVersion:        "hashicorp/time v" + fixture.TimeVersion + ": provider image manifest has unsupported artifact type",
		"< " + fixture.TimeVersion: "Installed hashicorp/time v" + badVersion,
	} {
		dir, cli := t.TempDir(), filepath.Join(t.TempDir(), "tofurc")
		write(t, filepath.Join(dir, "main.tf"), fmt.Sprintf("terraform {\n  required_providers {\n    time = {\n      source  = \"hashicorp/time\"\n      version = %q\n    }\n  }\n}\n", version))
		write(t, cli, installation)
		cmd := command(t, programs.tofu, "init", "-input=false", "-no-color")
		cmd.Dir, cmd.Env = dir, append(cmd.Env, "TF_CLI_CONFIG_FILE="+cli)
		out, err := cmd.CombinedOutput()
		isFailed := version[0] != '<'
		if text := strings.Join(strings.Fields(string(out)), " "); !strings.Contains(text, want) || (err != nil) != isFailed {
			t.Errorf("%s: got %v, want %q\n%s", version, err, want, out)
		}
	}
}

// TestTofuInstallsFromPromotedLayout checks that OpenTofu installs a release that was
// promoted in an image layout.
func TestTofuInstallsFromPromotedLayout(t *testing.T) {
	t.Parallel()
	_, config := serveOrigin(t, origintest.Options{}, world.release)
	layout := "oci-layout:" + filepath.ToSlash(t.TempDir()) + "/{namespace}/{type}"
	mirror := filepath.ToSlash(filepath.Join(t.TempDir(), "mirror"))
	pull := []string{"pull", "hashicorp/time", "--from", layout, "--dir", mirror, "--layout", "packed", "--output", "json"}
	run(t, programs.tofuOCI, "mirror", "hashicorp/time", "--stage", "--to", layout, "--config", config, "--ca-file", world.caFile)
	if err := command(t, programs.tofuOCI, pull...).Run(); exitCode(err) != 5 {
		t.Errorf("pulling a pending release: %v", err)
	}
	run(t, programs.tofuOCI, "promote", "hashicorp/time", "--to", layout)
	r := parse(t, run(t, programs.tofuOCI, pull...))
	dir, _ := initialize(t, fmt.Sprintf("provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n", mirror))
	_, h1 := r.hashes(t)
	checkLock(t, dir, h1)
}

// TestGarbageCollectionKeepsPendingReleases checks that the real registry's garbage
// collection removes denied releases. It must keep pending releases and the reason for
// the denial.
func TestGarbageCollectionKeepsPendingReleases(t *testing.T) {
	t.Parallel()
	_, config := serveOrigin(t, origintest.Options{}, world.release, badRelease(t))
	storage := t.TempDir()
	host, stop, err := fixture.StartRegistry(t.Context(), programs.registry, storage, "", world.ca)
	if err != nil {
		t.Fatal(err)
	}
	flags := func() []string {
		return []string{"--to", host + "/mirror/{namespace}/{type}", "--config", config, "--ca-file", world.caFile, "--output", "json"}
	}
	for _, v := range []string{fixture.TimeVersion, badVersion} {
		run(t, programs.tofuOCI, append([]string{"mirror", "hashicorp/time@" + v, "--stage"}, flags()...)...)
	}
	run(t, programs.tofuOCI, append([]string{"deny", "hashicorp/time@" + badVersion, "--reason", "not good enough"}, flags()...)...)
	stop()
	collect := command(t, programs.registry, "garbage-collect", "--delete-untagged=true", filepath.Join(storage, "config.yml"))
	collect.Env = append(collect.Env, "OTEL_TRACES_EXPORTER=none")
	output(t, collect)
	if host, stop, err = fixture.StartRegistry(t.Context(), programs.registry, storage, "", world.ca); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)

	repo := openRegistry(t, host+"/mirror/{namespace}/{type}")
	i, err := repository.Inspect(t.Context(), repo, "pending-"+fixture.TimeVersion, repository.DepthContent)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range world.platforms {
		if f := i.At(p); !f.IsIntact() || f.Manifest.Zip.Size == 0 {
			t.Errorf("%s: %v, missing %v", p, f.Err, f.Missing)
		}
	}
	bad := badRelease(t).Archives[provider.CurrentPlatform()].Bytes
	zip := artifact.NewDocument("zip", artifact.MediaTypeZip, bad).Digest
	if _, err := repo.Stat(t.Context(), ocispec.Descriptor{Digest: zip}); !errors.Is(err, repository.ErrNotFound) {
		t.Errorf("pulling the denied zip: %v", err)
	}
	again := parse(t, run(t, programs.tofuOCI, append([]string{"mirror", "hashicorp/time@<= " + badVersion, "--stage"}, flags()...)...))
	if got := again.Items[0].Status; got != "denied" {
		t.Errorf("unexpected result of the second staging: %s", got)
	}
	promoted := parse(t, run(t, programs.tofuOCI, append([]string{"promote", "hashicorp/time"}, flags()...)...))
	if got := promoted.Items[0].Status; got != "promoted" {
		t.Errorf("promoting: %s", got)
	}
	dir, _ := initialize(t, run(t, programs.tofuOCI, "tofurc", host+"/mirror/{namespace}/{type}"))
	zh, _ := promoted.hashes(t)
	checkLock(t, dir, zh)
}

// initializeInVain runs tofu init, which must fail, and returns its output.
func initializeInVain(t *testing.T, installation string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "main.tf"), mainTF)
	cli := filepath.Join(t.TempDir(), "tofurc")
	write(t, cli, installation)
	cmd := command(t, programs.tofu, "init", "-input=false", "-no-color")
	cmd.Dir = dir
	cmd.Env = append(cmd.Env, "TF_CLI_CONFIG_FILE="+cli)
	out, err := cmd.CombinedOutput()
	if exitCode(err) != 1 {
		t.Errorf("tofu init: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, ".terraform.lock.hcl")); err == nil {
		t.Error("tofu init wrote a lock file")
	}
	return strings.Join(strings.Fields(string(out)), " ")
}

func openRegistry(t *testing.T, reference string) repository.Repository {
	t.Helper()
	client, err := httpclient.New(httpclient.Options{CAFile: world.caFile})
	if err != nil {
		t.Fatal(err)
	}
	return openRepository(t, reference, client)
}

func tagsOf(t *testing.T, reference string) []string {
	t.Helper()
	tags, err := openRegistry(t, reference).Tags(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return tags
}

// exitCode returns the exit code of a program, or -1 if it did not run.
func exitCode(err error) int {
	if err == nil {
		return 0
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	return -1
}
