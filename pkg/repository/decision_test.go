package repository_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// reasons returns the reasons of decisions.
func reasons(records []repository.DecisionRecord) (all []string) {
	for _, r := range records {
		all = append(all, r.Reason)
	}
	return all
}

// TestDecisions checks that decisions are listed in the order in which they were made, that a
// repeated decision is recorded once unless it was denied since, and that decisions are not
// listed as documents.
func TestDecisions(t *testing.T) {
	t.Parallel()
	for name, o := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, o)
			repo, address, version := w.open(), nouns.Address(t, "acme/thing"), nouns.Version(t, "1.0.0")
			start := time.Now()
			record := func(kind, verdict, reason string, after time.Duration) {
				t.Helper()
				d := repository.NewDecision(repo, kind, verdict, address, version)
				d.Reason, d.Time = reason, start.Add(after)
				if err := repository.Record(t.Context(), repo, d, w.subject, nil); err != nil {
					t.Fatal(err)
				}
			}
			record(artifact.DecisionPromote, artifact.VerdictAllow, "second", time.Hour)
			record(artifact.DecisionPromote, artifact.VerdictAllow, "first", 0)
			record(artifact.DecisionPromote, artifact.VerdictAllow, "first", 2*time.Hour) // repeated
			record(artifact.DecisionGate, artifact.VerdictHold, "gate", 3*time.Hour)
			record(artifact.DecisionGate, artifact.VerdictHold, "gate", 4*time.Hour) // repeated
			record(artifact.DecisionDeny, artifact.VerdictDeny, "denied", 5*time.Hour)
			record(artifact.DecisionPromote, artifact.VerdictAllow, "first", 6*time.Hour)
			records, err := repository.Decisions(t.Context(), w.open(), w.subject.Digest)
			if diff := cmp.Diff([]string{"first", "second", "gate", "denied", "first"}, reasons(records)); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
			gates, err := repository.Decisions(t.Context(), w.open(), w.subject.Digest, artifact.DecisionGate)
			if len(gates) != 1 || err != nil {
				t.Errorf("got %v, %v", gates, err)
			}
			w.wantDocuments(t)
		})
	}
	w := newWorld(t, &registrytest.Options{NoReferrers: http.StatusNotFound, TagsAreDigests: true})
	d := repository.NewDecision(w.open(), artifact.DecisionPromote, artifact.VerdictAllow, nouns.Address(t, "acme/thing"), nouns.Version(t, "1.0.0"))
	if err := repository.Record(t.Context(), w.open(), d, w.subject, nil); !errors.Is(err, repository.ErrNoReferrersList) {
		t.Errorf("without a referrers list: %v", err)
	}
	if _, err := repository.Decisions(t.Context(), w.open(), w.subject.Digest); !errors.Is(err, repository.ErrNoReferrersList) {
		t.Errorf("without a referrers list: %v", err)
	}
}

// TestDecisionReplay checks that a decision about a different release or repository isn't
// about this release, even if it is attached to this release's index.
func TestDecisionReplay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &registrytest.Options{})
	repo, address, version := w.open(), nouns.Address(t, "acme/thing"), nouns.Version(t, "1.0.0")
	about := repository.NewDecision(repo, artifact.DecisionPromote, artifact.VerdictAllow, address, version)
	for reason, change := range map[string]func(*artifact.Decision, *ocispec.Descriptor){
		"right":      func(*artifact.Decision, *ocispec.Descriptor) {},
		"repository": func(d *artifact.Decision, _ *ocispec.Descriptor) { d.Repository = "ghcr.io/acme/thing" },
		"layout":     func(d *artifact.Decision, _ *ocispec.Descriptor) { d.Repository = "oci-layout" },
		"provider":   func(d *artifact.Decision, _ *ocispec.Descriptor) { d.Provider = "registry.opentofu.org/acme/other" },
		"version":    func(d *artifact.Decision, _ *ocispec.Descriptor) { d.Version = "1.0.1" },
		"index": func(_ *artifact.Decision, subject *ocispec.Descriptor) {
			subject.Digest = blob("other").Descriptor.Digest
		},
	} {
		d, subject := about, w.subject
		d.Reason = reason
		change(&d, &subject)
		packed, err := d.Pack(subject, nil)
		if err != nil {
			t.Fatal(err)
		}
		if subject.Digest != w.subject.Digest { // the statement of another index, with this index as subject
			var manifest ocispec.Manifest
			if err := json.Unmarshal(packed.Manifest.Bytes, &manifest); err != nil {
				t.Fatal(err)
			}
			manifest.Subject = &w.subject
			packed.Manifest = blobOf(t, manifest, ocispec.MediaTypeImageManifest)
			packed.Entry.Digest, packed.Entry.Size = packed.Manifest.Descriptor.Digest, packed.Manifest.Descriptor.Size
		}
		if err := repository.AttachDecision(t.Context(), repo, packed, w.subject); err != nil {
			t.Fatal(err)
		}
	}
	got, err := repository.DecisionsAbout(t.Context(), w.open(), provider.Release{Address: address, Version: version}, w.subject.Digest, provider.Address{})
	if err != nil || len(got) != 1 || got[0].Reason != "right" {
		t.Errorf("got %+v, %v", got, err)
	}
	if all, err := repository.Decisions(t.Context(), w.open(), w.subject.Digest); len(all) != 6 || err != nil {
		t.Errorf("got %d records, %v", len(all), err)
	}
}

// TestDecisionsAboutModules checks that a decision about a module holds however its address
// is spelled. An image layout can also be moved.
func TestDecisionsAboutModules(t *testing.T) {
	t.Parallel()
	for name, o := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo, version := newWorld(t, o).open(), nouns.Version(t, "1.0.0")
			decided := repository.NewDecision(repo, artifact.DecisionPromote, artifact.VerdictAllow, provider.ModuleAddress("oci://registry.example.org/vpc"), version)
			for _, spelled := range []string{repo.String(), "oci-layout:elsewhere/vpc"} {
				about := repository.About(repo, provider.Release{Address: provider.ModuleAddress(spelled), Version: version}, "")
				if !decided.IsAbout(about) {
					t.Errorf("decision about %s doesn't hold for %s", decided.Provider, about.Provider)
				}
			}
		})
	}
}

// TestDecisionSchema checks that statements match their schema, and that the schema describes
// all fields.
func TestDecisionSchema(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "docs", "schema", "v2", "decision.schema.json")
	schema, err := jsonschema.NewCompiler().Compile(path)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, nil)
	full := repository.NewDecision(w.open(), artifact.DecisionGate, artifact.VerdictHold, nouns.Address(t, "acme/thing"), nouns.Version(t, "1.0.0"))
	full.Gate, full.Reason, full.By = "scan", "no owner", "gate scan"
	full.Packages = map[string]digest.Digest{"linux_amd64": w.subject.Digest}
	short := full
	short.Kind, short.Verdict, short.Gate, short.Reason, short.By, short.Packages = artifact.DecisionPromote, artifact.VerdictAllow, "", "", "", nil
	for _, d := range []artifact.Decision{full, short} {
		packed, err := d.Pack(w.subject, nil)
		if err != nil {
			t.Fatal(err)
		}
		statement, err := jsonschema.UnmarshalJSON(bytes.NewReader(packed.Document.Bytes))
		if err == nil {
			err = schema.Validate(statement)
		}
		if err != nil {
			t.Errorf("%s: %v", packed.Document.Bytes, err)
		}
		if fields := statement.(map[string]any); d.Gate != "" && len(fields) != len(schema.Properties) {
			t.Errorf("the schema describes %d fields, but the statement has %d", len(schema.Properties), len(fields))
		}
	}
}

// TestDecisionFlood checks that too many decisions cause an error before they are read,
// and that many other referrers or damaged decisions don't hide a decision.
func TestDecisionFlood(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	repo, address, version := w.open(), nouns.Address(t, "acme/thing"), nouns.Version(t, "1.0.0")
	d := repository.NewDecision(repo, artifact.DecisionPromote, artifact.VerdictAllow, address, version)
	d.Reason = "right"
	packed, err := d.Pack(w.subject, nil)
	if err == nil {
		err = repository.AttachDecision(t.Context(), repo, packed, w.subject)
	}
	if err != nil {
		t.Fatal(err)
	}
	flood := func(kind string, n int) {
		entries := []ocispec.Descriptor{packed.Entry}
		for i := range n {
			entries = append(entries, ocispec.Descriptor{
				MediaType: ocispec.MediaTypeImageManifest, ArtifactType: kind, Digest: w.subject.Digest, Size: w.subject.Size,
				Annotations: map[string]string{ocispec.AnnotationTitle: fmt.Sprintf("promote-%d.json", i)},
			})
		}
		list, err := artifact.AddReferrer(nil, entries...)
		if err != nil {
			t.Fatal(err)
		}
		tag := artifact.ReferrersTag(w.subject.Digest)
		was, _, err := repo.Manifest(t.Context(), tag)
		if err == nil {
			err = repo.PushTag(t.Context(), list, tag, was.Digest)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	const earlierType = "application/vnd.io.github.tofu-oci.decision.v1+json"
	for kind, n := range map[string]int{artifact.MediaTypeSPDX: 900, earlierType: 199} {
		flood(kind, n)
		if got, err := repository.Decisions(t.Context(), w.open(), w.subject.Digest); len(got) != 1 || err != nil {
			t.Errorf("%s: %v, %v", kind, got, err)
		}
	}
	flood(earlierType, 200)
	if got, err := repository.Decisions(t.Context(), w.open(), w.subject.Digest); err == nil || got != nil {
		t.Errorf("got %v", got)
	}
	r, err := repository.ReadReferrers(t.Context(), w.open(), w.subject.Digest)
	if err != nil || len(r.Decisions) != 0 || len(r.Lost) != 1 || !strings.Contains(r.Lost[0].Error(), "exceed the limit") {
		t.Errorf("got %+v, %v", r, err)
	}
}

// bigKeys signs decisions with keys of almost the maximum size.
type bigKeys struct{}

func (bigKeys) Sign([]byte) ([]byte, error) { return []byte("signature"), nil }
func (bigKeys) Signed([]byte, []byte) bool  { return false }
func (bigKeys) Keys() []byte                { return make([]byte, 1<<20) }

// TestDecisionsAreBounded checks that the total size of the decisions that are read is
// limited.
func TestDecisionsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	repo := w.open()
	d := repository.NewDecision(repo, artifact.DecisionPromote, artifact.VerdictAllow, nouns.Address(t, "acme/thing"), nouns.Version(t, "1.0.0"))
	for i := range 16 {
		d.Reason = fmt.Sprint(i)
		packed, err := d.Pack(w.subject, bigKeys{})
		if err == nil {
			err = repository.AttachDecision(t.Context(), repo, packed, w.subject)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if got, err := repository.Decisions(t.Context(), w.open(), w.subject.Digest); err == nil || got != nil {
		t.Errorf("got %d decisions", len(got))
	}
}
