package e2e_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/e2e/recording"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
)

// variable matches parts of the output that differ between runs: digests, hashes, keys,
// sizes, and platforms.
var variable = regexp.MustCompile(`[0-9a-f]{64}|[0-9A-F]{40}|h1:\S+|[\d.]+ k?M?B\b|( --platform )?(linux|darwin|windows|freebsd|openbsd)_[a-z0-9]+`)

// form returns the lines of the output without the parts that differ between runs.
func form(text string) (lines []string) {
	for line := range strings.Lines(text) {
		lines = append(lines, strings.Join(strings.Fields(variable.ReplaceAllString(line, "… ")), " "))
	}
	return slices.Compact(lines) // keeps one line for all platforms
}

// TestRecording checks that the README's picture shows the commands' current output,
// except for parts that differ between runs.
func TestRecording(t *testing.T) {
	t.Parallel()
	picture, err := os.Open(filepath.Join("..", "docs", "images", "demo.svg"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = picture.Close() }()
	drawn, err := recording.Read(picture)
	if err != nil {
		t.Fatal(err)
	}
	_, config := serveOrigin(t, origintest.Options{}, world.release)
	dir := t.TempDir()
	write(t, filepath.Join(dir, recording.Dir, "ca.pem"), string(world.ca.PEM()))
	for i, step := range recording.Road(world.platforms...) {
		cmd := command(t, programs.tofuOCI, strings.Fields(step.Command)...)
		cmd.Dir, cmd.Env = dir, append(cmd.Env, "TF_CLI_CONFIG_FILE="+config)
		if diff := cmp.Diff(form(output(t, cmd)), form(drawn[i].Output)); diff != "" {
			t.Errorf("the picture is outdated: run make recording. Output of %s (-current +picture):\n%s", step.Command, diff)
		}
	}
	// The demonstration then installs the provider from the layout.
	write(t, filepath.Join(dir, recording.Dir, "project", "main.tf"), recording.Configuration)
	cmd := command(t, programs.tofuOCI, strings.Fields(recording.Install().Command)...)
	cmd.Dir, cmd.Env = dir, append(cmd.Env, "PATH="+filepath.Dir(programs.tofu)+string(os.PathListSeparator)+os.Getenv("PATH"))
	if text := output(t, cmd); !strings.Contains(text, "Using previously-installed hashicorp/time v"+fixture.TimeVersion) {
		t.Errorf("tofu init printed\n%s", text)
	}
}
