package artifact_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

var (
	denied = artifact.Denial{
		Reason: "it phones home\nsee #42", By: "jane",
		Packages: map[provider.Platform]digest.Digest{
			{OS: "plan9", Arch: "mips64"}:  digest.FromString("plan9"),
			{OS: "haiku", Arch: "riscv64"}: digest.FromString("haiku"),
		},
	}
	deniedIndex = ocispec.Descriptor{MediaType: ocispec.MediaTypeImageIndex, Digest: digest.FromString("an index"), Size: 8}
)

func TestDenialGolden(t *testing.T) {
	t.Parallel()
	r, err := denied.Pack(deniedIndex)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "denial.json", r.Document.Bytes)
	golden(t, "denial-manifest.json", r.Manifest.Bytes)
}

func TestDenialRoundTrip(t *testing.T) {
	t.Parallel()
	r, err := denied.Pack(deniedIndex)
	if err != nil {
		t.Fatal(err)
	}
	index, document, err := artifact.ParseDenialManifest(r.Manifest.Bytes)
	if err != nil || index.Digest != deniedIndex.Digest || document.Digest != r.Document.Digest {
		t.Errorf("about %v, by %v, %v", index, document, err)
	}
	got, err := artifact.ParseDenial(r.Document.Bytes)
	if diff := cmp.Diff(denied, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if got.String() != "it phones home\nsee #42 (jane)" {
		t.Errorf("got %q", got)
	}
	if _, err := artifact.ParseIndex(r.Manifest.Bytes); !isFormatError(err) {
		t.Errorf("read as a release: %v", err)
	}
}

// TestDeniedTagIsNotAVersion checks that OpenTofu ignores the tags of denials.
func TestDeniedTagIsNotAVersion(t *testing.T) {
	t.Parallel()
	v, err := provider.ParseVersion("1.2.3+build")
	if err != nil {
		t.Fatal(err)
	}
	tag := artifact.DeniedTag(v)
	if again := (artifact.Tags{tag}).Denied(); tag != "denied-1.2.3_build" || len(again) != 1 || again[0] != v {
		t.Errorf("%q reads as %v", tag, again)
	}
	if got := (artifact.Tags{tag, artifact.PendingTag(v)}.Released()); got != nil {
		t.Errorf("OpenTofu would see %v", got)
	}
	for _, other := range []string{"pending-1.2.3", "denied-", "denied-1.2", "1.2.3"} {
		if got := (artifact.Tags{other}).Denied(); got != nil {
			t.Errorf("%q reads as %v", other, got)
		}
	}
}

func TestInvalidDenial(t *testing.T) {
	t.Parallel()
	for problem, d := range map[string]artifact.Denial{
		"a denial requires a reason": {Reason: " \n"},
		"reason exceeds":             {Reason: strings.Repeat("x", 5000)},
		"name exceeds":               {Reason: "x", By: strings.Repeat("x", 5000)},
		"is not valid UTF-8":         {Reason: "x\xff"},
	} {
		if _, err := d.Pack(deniedIndex); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%s: %v", problem, err)
		}
	}
	r, err := denied.Pack(deniedIndex)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*ocispec.Manifest){
		"of another type": func(m *ocispec.Manifest) { m.ArtifactType = artifact.MediaTypeSPDX },
		"of nothing":      func(m *ocispec.Manifest) { m.Subject = nil },
		"of no digest":    func(m *ocispec.Manifest) { m.Subject = &ocispec.Descriptor{Digest: "sha256:x"} },
		"without a layer": func(m *ocispec.Manifest) { m.Layers = nil },
		"too large":       func(m *ocispec.Manifest) { m.Layers[0].Size = 64<<10 + 1 },
	} {
		var manifest ocispec.Manifest
		if err := json.Unmarshal(r.Manifest.Bytes, &manifest); err != nil {
			t.Fatal(err)
		}
		change(&manifest)
		data, err := json.Marshal(manifest)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := artifact.ParseDenialManifest(data); !isFormatError(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzParseDenial(f *testing.F) {
	f.Add([]byte(`{"reason":"x","by":"y","packages":{"linux_amd64":"` + digest.FromString("x").String() + `"}}`))
	f.Add([]byte(`{"reason":"x","packages":{"..":"sha256:0","linux_amd64":""}}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := artifact.ParseDenial(data)
		var format *artifact.FormatError
		if err != nil && !errors.As(err, &format) {
			t.Errorf("%T: %v", err, err)
		}
		if err != nil || d.Check() != nil {
			return
		}
		r, err := d.Pack(deniedIndex)
		if err != nil {
			t.Fatal(err)
		}
		again, err := artifact.ParseDenial(r.Document.Bytes)
		if diff := cmp.Diff(d, again); diff != "" || err != nil {
			t.Errorf("written and read again: %v %s", err, diff)
		}
	})
}
