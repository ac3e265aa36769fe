// Package e2e_test drives the real programs: tofu-oci, tofu, the distribution
// registry, regctl, and a real provider. make e2e builds them.
package e2e_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/internal/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testca"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// programs are where the environment says the programs are.
var programs struct{ tofuOCI, tofu, registry, regctl, syft, timeModule string }

// world is what all tests share: it is made once and not changed.
var world struct {
	ca *testca.CA
	// caFile has the authority's certificate.
	caFile  string
	release origintest.Release
	// platforms are those of the release, this machine's among them.
	platforms []provider.Platform
}

func TestMain(m *testing.M) {
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	for name, into := range map[string]*string{
		"TOFU_OCI": &programs.tofuOCI, "TOFU": &programs.tofu, "REGISTRY": &programs.registry,
		"REGCTL": &programs.regctl, "SYFT": &programs.syft, "TIME_MODULE": &programs.timeModule,
	} {
		if *into = os.Getenv(name); *into == "" {
			fmt.Fprintf(os.Stderr, "%s is not set: run make e2e\n", name)
			return 1
		}
	}
	dir, err := os.MkdirTemp("", "tofu-oci-e2e-*")
	if err == nil {
		defer func() { _ = os.RemoveAll(dir) }()
		err = makeWorld(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func makeWorld(dir string) (err error) {
	world.platforms = provider.SortPlatforms([]provider.Platform{
		provider.CurrentPlatform(), {OS: "freebsd", Arch: "amd64"}, {OS: "openbsd", Arch: "arm"}, {OS: "windows", Arch: "386"},
	})
	if world.ca, err = testca.New(); err != nil {
		return err
	}
	world.caFile = filepath.Join(dir, "ca.pem")
	if err := os.WriteFile(world.caFile, world.ca.PEM(), 0o600); err != nil {
		return err
	}
	world.release, err = fixture.TimeRelease(context.Background(), programs.timeModule, dir, world.platforms...)
	return err
}

// serveOrigin serves the release as registry.opentofu.org would, and gives a
// CLI configuration that says where it is.
func serveOrigin(t testing.TB, o origintest.Options, releases ...origintest.Release) (origin *origintest.Origin, config string) {
	t.Helper()
	origin = origintest.New(o)
	for _, r := range releases {
		if err := origin.Add(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	url, stop, err := fixture.Serve(world.ca, origin)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	config = filepath.Join(t.TempDir(), "origin.tofurc")
	write(t, config, fixture.CLIConfig(url))
	return origin, config
}

func startRegistry(t testing.TB) (host string) {
	t.Helper()
	host, stop, err := fixture.StartRegistry(t.Context(), programs.registry, t.TempDir(), world.ca)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return host
}

// command is a program that trusts the test authority and knows no logins and
// no configuration of the machine.
func command(t testing.TB, program string, args ...string) *exec.Cmd {
	t.Helper()
	home := t.TempDir()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = append(os.Environ(), "HOME="+home, "USERPROFILE="+home, "DOCKER_CONFIG="+home,
		"SSL_CERT_FILE="+world.caFile, "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1")
	return cmd
}

// run runs a program that has to succeed and gives its stdout.
func run(t testing.TB, program string, args ...string) string {
	t.Helper()
	return output(t, command(t, program, args...))
}

func output(t testing.TB, cmd *exec.Cmd) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(cmd.Args, " "), err, &stdout, &stderr)
	}
	return stdout.String()
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
