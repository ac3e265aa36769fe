package recording_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/e2e/recording"
)

// TestRoundTrip checks that Read returns exactly the text that Draw received.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	want := []recording.Scene{
		{Step: recording.Step{Why: "Short", Command: "list a/b"}, Output: "1.2.3\n"},
		{
			Step:   recording.Step{Why: "Longer than the screen is wide " + strings.Repeat("wide ", 40) + "!", Command: "pull " + strings.Repeat("hashicorp/time ", 20) + "--dir x"},
			Output: "  linux_amd64   pushed  6.5 MB  " + strings.Repeat("long", 60) + "\n<script>&amp; \"quoted\" ${type} 'é'\nx@sha256:" + strings.Repeat("0f", 32) + "  h1:" + strings.Repeat("A", 43) + "=\n",
		},
	}
	var picture bytes.Buffer
	if err := recording.Draw(&picture, want); err != nil {
		t.Fatal(err)
	}
	got, err := recording.Read(&picture)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-drawn +read:\n%s", diff)
	}
}

// TestReadRejects checks that Read rejects pictures with active content.
func TestReadRejects(t *testing.T) {
	t.Parallel()
	for name, picture := range map[string]string{
		"script":        `<svg><text># Why</text><script>alert(1)</script></svg>`,
		"image":         `<svg><image href="https://example.com/x.png"/></svg>`,
		"no end":        `<svg><text># Why</text>`,
		"no first step": `<svg><text>created</text></svg>`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if scenes, err := recording.Read(strings.NewReader(picture)); err == nil {
				t.Errorf("%+v", scenes)
			}
		})
	}
}

// TestRecordingFile checks that the README's picture is small and shows the commands of the
// demonstration. make recording generates the picture.
func TestRecordingFile(t *testing.T) {
	t.Parallel()
	picture, err := os.ReadFile(filepath.Join("..", "..", "docs", "images", "demo.svg"))
	if err != nil {
		t.Fatal(err)
	}
	if len(picture) > 150_000 {
		t.Errorf("%d bytes", len(picture))
	}
	scenes, err := recording.Read(bytes.NewReader(picture))
	if err != nil {
		t.Fatal(err)
	}
	var got []recording.Step
	for _, s := range scenes {
		s.Command, _, _ = strings.Cut(s.Command, " --platform ") // the flag depends on the machine that generated the picture
		got = append(got, s.Step)
	}
	if diff := cmp.Diff(recording.Road(), got); diff != "" {
		t.Errorf("the picture is outdated: run make recording (-demonstration +picture):\n%s", diff)
	}
}
