package e2e_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
)

// TestCooldown checks that OpenTofu installs the version that is old enough. OpenTofu
// must install the newer version only after that version is mirrored explicitly. The
// registry must store the publication dates of both versions.
func TestCooldown(t *testing.T) {
	t.Parallel()
	const older = "0.14.1"
	old, young := world.release, world.release
	old.Version, old.Modified = older, time.Now().Add(-100*time.Hour)
	old.Sums, old.Signature, old.Keys = nil, nil, nil // these fields belong to the newer version
	young.Modified = time.Now().Add(-time.Hour)
	_, config := serveOrigin(t, origintest.Options{}, old, young)
	host := startRegistry(t)
	to := host + "/cooldown/{namespace}/{type}"
	mirror := func(wanted string) string {
		return run(t, programs.tofuOCI, "mirror", wanted, "--min-age", "3d", "--to", to, "--config", config, "--ca-file", world.caFile, "--output", "json")
	}
	installs := func(version string) {
		t.Helper()
		dir, cli := t.TempDir(), filepath.Join(t.TempDir(), "tofurc")
		write(t, filepath.Join(dir, "main.tf"), strings.Replace(mainTF, `"`+fixture.TimeVersion+`"`, `">= `+older+`"`, 1))
		write(t, cli, run(t, programs.tofuOCI, "tofurc", to))
		if text := tofu(t, dir, cli, "init", "-input=false", "-no-color"); !strings.Contains(text, "Installed hashicorp/time v"+version) {
			t.Errorf("not %s:\n%s", version, text)
		}
	}
	dated := func(version string, want time.Time) {
		t.Helper()
		text := run(t, programs.regctl, "manifest", "get", "--format", "raw-body", host+"/cooldown/hashicorp/time:"+version)
		if date := `"org.opencontainers.image.created":"` + want.UTC().Format(time.RFC3339) + `"`; !strings.Contains(text, date) {
			t.Errorf("%s has no date %s:\n%s", version, date, text)
		}
	}

	if text := mirror("hashicorp/time"); !strings.Contains(text, `"status": "held"`) || !strings.Contains(text, `"status": "created"`) {
		t.Errorf("want held and created releases, got:\n%s", text)
	}
	installs(older)
	dated(older, old.Modified)
	mirror("hashicorp/time@" + fixture.TimeVersion)
	installs(fixture.TimeVersion)
	dated(fixture.TimeVersion, young.Modified)
}
