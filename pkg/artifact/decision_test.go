package artifact_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

var (
	denied = artifact.Decision{
		Kind: artifact.DecisionDeny, Verdict: artifact.VerdictDeny, Reason: "it phones home\nsee #42", By: "jane",
		Repository: "ghcr.io/acme/thing", Provider: "registry.opentofu.org/acme/thing", Version: "1.2.3", Index: deniedIndex.Digest,
		Packages: map[string]digest.Digest{"plan9_mips64": digest.FromString("plan9"), "haiku_riscv64": digest.FromString("haiku")},
		Time:     time.Unix(1e9, 0).UTC(),
	}
	deniedIndex = ocispec.Descriptor{MediaType: ocispec.MediaTypeImageIndex, Digest: digest.FromString("an index"), Size: 8}
)

// fakeSigner returns fixed bytes as signatures.
type fakeSigner struct{ keys string }

func (fakeSigner) Sign([]byte) ([]byte, error)     { return []byte("a signature"), nil }
func (fakeSigner) Signed(_, signature []byte) bool { return string(signature) == "a signature" }
func (s fakeSigner) Keys() []byte                  { return []byte(s.keys) }

func TestDecisionGolden(t *testing.T) {
	t.Parallel()
	r, err := denied.Pack(deniedIndex, nil)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "decision.json", r.Document.Bytes)
	golden(t, "decision-manifest.json", r.Manifest.Bytes)
}

func TestDecisionRoundTrip(t *testing.T) {
	t.Parallel()
	for _, signer := range []artifact.Signer{nil, fakeSigner{"the keys"}} {
		r, err := denied.Pack(deniedIndex, signer)
		if err != nil {
			t.Fatal(err)
		}
		m, err := artifact.ParseDecisionManifest(r.Manifest.Bytes)
		if err != nil || m.Index.Digest != deniedIndex.Digest || m.Statement.Digest != r.Document.Digest {
			t.Errorf("got %+v, %v", m, err)
		}
		if signed := m.Signature.Digest == digest.FromString("a signature") && m.Keys.Digest == digest.FromString("the keys"); signed != (signer != nil) {
			t.Errorf("got %+v", m)
		}
		if len(r.Documents()) != 2+len(r.More) {
			t.Errorf("got %v", r.Documents())
		}
		got, err := artifact.ParseDecision(r.Document.Bytes)
		if diff := cmp.Diff(denied, got); diff != "" || err != nil {
			t.Errorf("%v %s", err, diff)
		}
		if got.String() != "it phones home\nsee #42 (jane)" {
			t.Errorf("got %q", got)
		}
		if !artifact.MayBeDecision(r.Entry, artifact.DecisionDeny) || artifact.MayBeDecision(r.Entry, artifact.DecisionPromote, artifact.DecisionForce) {
			t.Errorf("the entry %v has a wrong kind", r.Entry.Annotations)
		}
		if bare := (ocispec.Descriptor{Digest: r.Entry.Digest}); !artifact.MayBeDecision(bare, artifact.DecisionPromote) || !artifact.MayBeDocument(bare) {
			t.Error("an entry without annotations isn't read")
		}
		if _, err := artifact.ParseDocument(r.Manifest.Bytes); artifact.MayBeDocument(r.Entry) || !isFormatError(err) {
			t.Errorf("read as a document: %v", err)
		}
		if _, err := artifact.ParseIndex(r.Manifest.Bytes); !isFormatError(err) {
			t.Errorf("read as a release: %v", err)
		}
	}
}

// TestParseEarlierDecision checks that decisions with a separate artifact type, and
// without the annotation, are read. Earlier versions wrote them.
func TestParseEarlierDecision(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join(vectors, "decision-manifest-earlier.json"))
	if err != nil {
		t.Fatal(err)
	}
	entry, subject := artifact.DescribeReferrer(data)
	m, err := artifact.ParseDecisionManifest(data)
	if err != nil || m.Index.Digest != deniedIndex.Digest || subject != deniedIndex.Digest {
		t.Errorf("got %+v, %v", m, err)
	}
	if !artifact.MayBeDecision(entry, artifact.DecisionDeny) || artifact.MayBeDecision(entry, artifact.DecisionGate) || artifact.MayBeDocument(entry) {
		t.Errorf("the entry is %+v", entry)
	}
}

// TestParseDecisionWithExpiry checks that decisions that expire, which earlier versions
// wrote, are not read as decisions that are valid forever.
func TestParseDecisionWithExpiry(t *testing.T) {
	t.Parallel()
	data, err := json.Marshal(denied)
	if err != nil {
		t.Fatal(err)
	}
	for member, want := range map[string]bool{"": true, `,"expires":"2033-05-18T03:33:20Z"`: false, `,"Expires":"2033-05-18T03:33:20Z"`: false} {
		statement := strings.TrimSuffix(string(data), "}") + member + "}"
		if _, err := artifact.ParseDecision([]byte(statement)); (err == nil) != want || err != nil && !isFormatError(err) {
			t.Errorf("%q: %v", member, err)
		}
	}
}

// TestIsLocalDecision checks which decisions have no meaning in other repositories.
func TestIsLocalDecision(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]struct{ unsigned, signed bool }{
		artifact.DecisionDeny: {false, false}, artifact.DecisionPromote: {true, false}, artifact.DecisionForce: {true, false}, artifact.DecisionGate: {true, true},
	} {
		d := denied
		d.Kind = kind
		for signer, want := range map[artifact.Signer]bool{nil: want.unsigned, fakeSigner{"the keys"}: want.signed} {
			r, err := d.Pack(deniedIndex, signer)
			if err != nil {
				t.Fatal(err)
			}
			if got := artifact.IsLocalDecision(r.Manifest.Bytes); got != want {
				t.Errorf("%s, signed %t: got %t", kind, signer != nil, got)
			}
		}
	}
	if artifact.IsLocalDecision([]byte("{}")) {
		t.Error("not a decision")
	}
}

// TestDecisionRepeats checks that decisions are different if they differ in any field
// except the time.
func TestDecisionRepeats(t *testing.T) {
	t.Parallel()
	later := denied
	later.Time = time.Unix(3e9, 0)
	if !denied.Repeats(later) {
		t.Error("a later decision is different")
	}
	for name, change := range map[string]func(*artifact.Decision){
		"kind": func(d *artifact.Decision) { d.Kind = "x" }, "verdict": func(d *artifact.Decision) { d.Verdict = "x" },
		"gate": func(d *artifact.Decision) { d.Gate = "x" }, "reason": func(d *artifact.Decision) { d.Reason = "x" },
		"name":       func(d *artifact.Decision) { d.By = "x" },
		"repository": func(d *artifact.Decision) { d.Repository = "x" }, "provider": func(d *artifact.Decision) { d.Provider = "x" },
		"version": func(d *artifact.Decision) { d.Version = "x" }, "index": func(d *artifact.Decision) { d.Index, d.Packages = "x", nil },
	} {
		other := denied
		if change(&other); denied.Repeats(other) {
			t.Errorf("the %s makes no difference", name)
		}
	}
}

// TestDecisionIsAbout checks which releases a decision applies to.
func TestDecisionIsAbout(t *testing.T) {
	t.Parallel()
	plan9, haiku := denied.Packages["plan9_mips64"], denied.Packages["haiku_riscv64"]
	for name, test := range map[string]struct {
		index digest.Digest
		zips  map[string]digest.Digest
		want  bool
	}{
		"the index":                {denied.Index, nil, true},
		"the index, other zips":    {denied.Index, map[string]digest.Digest{"plan9_mips64": haiku}, true},
		"the zips":                 {"other", map[string]digest.Digest{"plan9_mips64": plan9, "haiku_riscv64": haiku}, true},
		"one of the zips":          {"other", map[string]digest.Digest{"haiku_riscv64": haiku}, true},
		"an added platform":        {"other", map[string]digest.Digest{"plan9_mips64": plan9, "zos_s390x": haiku}, false},
		"another zip":              {"other", map[string]digest.Digest{"plan9_mips64": haiku}, false},
		"an unknown zip":           {"other", map[string]digest.Digest{"plan9_mips64": plan9, "haiku_riscv64": ""}, false},
		"an unknown platform, too": {"other", map[string]digest.Digest{"zos_s390x": ""}, false},
		"nothing":                  {"other", nil, false},
	} {
		about := denied
		about.Index, about.Packages = test.index, test.zips
		if got := denied.IsAbout(about); got != test.want {
			t.Errorf("%s: got %t", name, got)
		}
		about.Repository = "ghcr.io/acme/other"
		if denied.IsAbout(about) {
			t.Errorf("%s: applies to another repository", name)
		}
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

func TestInvalidDecision(t *testing.T) {
	t.Parallel()
	for problem, change := range map[string]func(*artifact.Decision){
		"a denial requires a reason": func(d *artifact.Decision) { d.Reason = " \n" },
		"hold requires a reason":     func(d *artifact.Decision) { d.Kind, d.Verdict, d.Reason = "gate", "hold", "" },
		"invalid decision kind":      func(d *artifact.Decision) { d.Kind = "" },
		"invalid verdict":            func(d *artifact.Decision) { d.Verdict = "yes" },
		"reason exceeds":             func(d *artifact.Decision) { d.Reason = strings.Repeat("x", 5000) },
		"name exceeds":               func(d *artifact.Decision) { d.By = strings.Repeat("x", 5000) },
		"gate name exceeds":          func(d *artifact.Decision) { d.Gate = strings.Repeat("x", 5000) },
		"decision exceeds":           func(d *artifact.Decision) { d.Provider = strings.Repeat("x", 64<<10) },
		"is not valid UTF-8":         func(d *artifact.Decision) { d.Reason = "x\xff" },
	} {
		d := denied
		change(&d)
		if _, err := d.Pack(deniedIndex, nil); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%s: %v", problem, err)
		}
	}
	if _, err := denied.Pack(deniedIndex, fakeSigner{strings.Repeat("x", 1<<20+1)}); err == nil {
		t.Error("a large key was accepted")
	}
	r, err := denied.Pack(deniedIndex, fakeSigner{"the keys"})
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*ocispec.Manifest){
		"a sync record":     func(m *ocispec.Manifest) { m.Annotations["io.github.tofu-oci.record"] = "sync" },
		"a document":        func(m *ocispec.Manifest) { delete(m.Annotations, "io.github.tofu-oci.record") },
		"of nothing":        func(m *ocispec.Manifest) { m.Subject = nil },
		"of no digest":      func(m *ocispec.Manifest) { m.Subject = &ocispec.Descriptor{Digest: "sha256:x"} },
		"without a layer":   func(m *ocispec.Manifest) { m.Layers = nil },
		"too large":         func(m *ocispec.Manifest) { m.Layers[0].Size = 64<<10 + 1 },
		"a large signature": func(m *ocispec.Manifest) { m.Layers[1].Size = 16<<10 + 1 },
		"large keys":        func(m *ocispec.Manifest) { m.Layers[2].Size = 1<<20 + 1 },
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
		if _, err := artifact.ParseDecisionManifest(data); !isFormatError(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzParseDecision(f *testing.F) {
	f.Add([]byte(`{"kind":"deny","verdict":"deny","reason":"x","by":"y","time":"2026-01-01T00:00:00Z","packages":{"linux_amd64":"` + digest.FromString("x").String() + `"}}`))
	f.Add([]byte(`{"kind":"gate","verdict":"allow","packages":{"..":"sha256:0","linux_amd64":""}}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := artifact.ParseDecision(data)
		var format *artifact.FormatError
		if err != nil && !errors.As(err, &format) {
			t.Errorf("%T: %v", err, err)
		}
		if err != nil || d.Check() != nil {
			return
		}
		r, err := d.Pack(deniedIndex, nil)
		if err != nil {
			return // too large, or a time that JSON can't represent
		}
		again, err := artifact.ParseDecision(r.Document.Bytes)
		if err != nil || again.Kind != d.Kind || again.Reason != d.Reason || again.Index != deniedIndex.Digest {
			t.Errorf("written and read again: %v %+v", err, again)
		}
	})
}
