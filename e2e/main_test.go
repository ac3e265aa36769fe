// Package e2e_test runs the real programs: tofu-oci, tofu, the distribution registry,
// regctl, and a real provider. make e2e builds the programs and runs all tests. make
// round runs only the tests of the main flows.
package e2e_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/internal/testing/gittest"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/testca"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// programs contains the paths of the programs, which the environment specifies.
var programs struct{ tofuOCI, tofu, terraform, registry, regctl, syft, cosign, govulncheck, opa, crane, timeModule string }

// world is shared by all tests. The tests do not modify it.
var world struct {
	ca *testca.CA
	// caFile contains the certificate of the test authority.
	caFile  string
	release origintest.Release
	// platforms lists the release's platforms, including the current platform.
	platforms []provider.Platform
}

func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == measureCommand {
		os.Exit(measure(os.Args[2], os.Args[3:]))
	}
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	flag.Parse()
	required := map[string]*string{"TOFU_OCI": &programs.tofuOCI, "TOFU": &programs.tofu, "REGISTRY": &programs.registry, "TIME_MODULE": &programs.timeModule}
	if !testing.Short() {
		maps.Copy(required, map[string]*string{
			"TERRAFORM": &programs.terraform, "REGCTL": &programs.regctl, "SYFT": &programs.syft, "COSIGN": &programs.cosign,
			"GOVULNCHECK": &programs.govulncheck, "OPA": &programs.opa, "CRANE": &programs.crane,
		})
	}
	for name, into := range required {
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
	if err := gittest.Environment(dir, world.ca.PEM()); err != nil { // writes caFile
		return err
	}
	world.release, err = fixture.TimeRelease(context.Background(), programs.timeModule, dir, world.platforms...)
	return err
}

// serveOrigin serves the releases like registry.opentofu.org does. It returns a CLI
// configuration that refers to the origin registry.
func serveOrigin(tb testing.TB, o origintest.Options, releases ...origintest.Release) (origin *origintest.Origin, config string) {
	tb.Helper()
	origin = origintest.New(o)
	for _, r := range releases {
		if err := origin.Add(tb.Context(), r); err != nil {
			tb.Fatal(err)
		}
	}
	url, stop, err := fixture.Serve(tb.Context(), world.ca, origin)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(stop)
	config = filepath.Join(tb.TempDir(), "origin.tofurc")
	write(tb, config, fixture.CLIConfig(url))
	return origin, config
}

func startRegistry(tb testing.TB) (host string) {
	tb.Helper()
	return startRegistryWith(tb, "")
}

// startRegistryWith starts a registry. For more, see [fixture.StartRegistry].
func startRegistryWith(tb testing.TB, more string) (host string) {
	tb.Helper()
	host, stop, err := fixture.StartRegistry(tb.Context(), programs.registry, tb.TempDir(), more, world.ca)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(stop)
	return host
}

// command returns a command that trusts the test authority. The command uses neither
// credentials nor the machine's configuration and caches, and waits for slow servers.
func command(tb testing.TB, program string, args ...string) *exec.Cmd {
	tb.Helper()
	home := tb.TempDir()
	cmd := exec.CommandContext(tb.Context(), program, args...)
	cmd.Env = append(os.Environ(), "HOME="+home, "USERPROFILE="+home, "DOCKER_CONFIG="+home, "TF_CLI_CONFIG_FILE=",
		"XDG_CACHE_HOME=", "XDG_CONFIG_HOME=", "XDG_RUNTIME_DIR=", "TOFU_OCI_CACHE=", "TF_PLUGIN_CACHE_DIR=",
		"TOFU_OCI_TIMEOUT="+patience.Limit.String(), fmt.Sprintf("TF_REGISTRY_CLIENT_TIMEOUT=%.0f", patience.Limit.Seconds()),
		"SSL_CERT_FILE="+world.caFile, "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1")
	return cmd
}

// run runs a program that must succeed, and returns its stdout.
func run(tb testing.TB, program string, args ...string) string {
	tb.Helper()
	return output(tb, command(tb, program, args...))
}

func output(tb testing.TB, cmd *exec.Cmd) string {
	tb.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		tb.Fatalf("%s: %v\n%s%s", strings.Join(cmd.Args, " "), err, &stdout, &stderr)
	}
	return stdout.String()
}

func write(tb testing.TB, path, text string) {
	tb.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
}
