//go:build wine

package wine_test

import (
	"testing"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/testca"
)

func authority(t *testing.T) *testca.CA {
	t.Helper()
	ca, err := testca.New()
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

// startRegistry starts a registry on this machine, outside Wine, and returns the
// registry's host.
func startRegistry(t *testing.T, ca *testca.CA) string {
	t.Helper()
	host, stop, err := fixture.StartRegistry(t.Context(), world.registry, t.TempDir(), "", ca)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return host
}

// origin serves a real provider for Windows. It returns a CLI configuration that refers
// to the origin registry.
func origin(t *testing.T, ca *testca.CA) string {
	t.Helper()
	release, err := fixture.TimeRelease(t.Context(), world.timeModule, t.TempDir(), here)
	if err != nil {
		t.Fatal(err)
	}
	origin := origintest.New(origintest.Options{})
	if err := origin.Add(t.Context(), release); err != nil {
		t.Fatal(err)
	}
	url, stop, err := fixture.Serve(t.Context(), ca, origin)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return fixture.CLIConfig(url)
}
