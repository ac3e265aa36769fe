package e2e_test

import (
	"os"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// terraformHost is Terraform's default host for providers.
const terraformHost = "registry.terraform.io"

// timeMirror is a registry that contains the real provider.
type timeMirror struct {
	// repository is a repository template. flags contains the flags of every command
	// that reads the repository.
	repository string
	flags      []string
	stop       func()
}

// newTimeMirror mirrors hashicorp/time under the provider's address on the given host.
func newTimeMirror(t *testing.T, host string) timeMirror {
	t.Helper()
	_, config := serveOrigin(t, origintest.Options{}, world.release)
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	write(t, config, strings.ReplaceAll(string(text), provider.DefaultHost.String(), host))
	at, stop, err := fixture.StartRegistry(t.Context(), programs.registry, t.TempDir(), "", world.ca)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	m := timeMirror{repository: at + "/mirror/{namespace}/{type}", stop: stop}
	run(t, programs.tofuOCI, "mirror", host+"/hashicorp/time", "--to", m.repository, "--config", config, "--ca-file", world.caFile)
	m.flags = []string{"--from", m.repository, "--ca-file", world.caFile}
	return m
}
