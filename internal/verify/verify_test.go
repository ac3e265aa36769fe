package verify_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/finding"
	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/internal/verify"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// TestNoFindings checks that a valid release has no findings at any depth.
func TestNoFindings(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w *world) {
		for name, o := range map[string]verify.Options{
			"default": {}, "deep": {Deep: true}, "against the origin": {Deep: true, Origin: w.source()},
		} {
			if r := w.verify(t, o); len(r.Findings) > 0 || r.Releases != 1 || r.HasErrors() {
				t.Errorf("%s: %d releases, %v", name, r.Releases, r.Findings)
			}
		}
	})
}

// defect is a modification of a valid release, and the expected findings.
type defect struct {
	make func(t *testing.T, w *world)
	deep bool
	want []string
	// layout and registry restrict the defect to one kind of repository.
	layout, registry bool
	// stays is set if mirroring the release again does not repair the defect.
	stays bool
}

func defects() map[string]defect {
	return map[string]defect{
		"lost index": {layout: true, want: []string{"error index-missing"}, make: func(t *testing.T, w *world) {
			d, _ := w.index(t)
			w.lose(t, d.Digest)
		}},
		"other index": {want: []string{"error index-format"}, make: func(t *testing.T, w *world) {
			w.editIndex(t, func(x *ocispec.Index) { x.ArtifactType = "" })
		}},
		"other provider": {want: []string{"error provider-differs"}, make: func(t *testing.T, w *world) {
			w.editIndex(t, func(x *ocispec.Index) { x.Annotations[artifact.AnnotationProvider] = "registry.example.org/acme/other" })
		}},
		"platform twice": {want: []string{"error platform-twice haiku_riscv64"}, make: func(t *testing.T, w *world) {
			w.editIndex(t, func(x *ocispec.Index) { x.Manifests = append(x.Manifests, x.Manifests[0]) })
		}},
		"lost manifest": {want: []string{"error manifest-missing haiku_riscv64"}, make: func(t *testing.T, w *world) {
			_, x := w.index(t)
			w.lose(t, x.Manifests[0].Digest)
		}},
		"manifest of another size": {want: []string{"error manifest-damaged haiku_riscv64"}, make: func(t *testing.T, w *world) {
			w.editIndex(t, func(x *ocispec.Index) { x.Manifests[0].Size++ })
		}},
		"manifest without a zip": {want: []string{"error manifest-format haiku_riscv64"}, make: func(t *testing.T, w *world) {
			w.editManifest(t, func(m *ocispec.Manifest) { m.Layers = m.Layers[1:] })
		}},
		"lost zip": {want: []string{"error blob-missing haiku_riscv64"}, make: func(t *testing.T, w *world) {
			m := w.manifest(t)
			w.lose(t, layer(&m, artifact.MediaTypeZip).Digest)
		}},
		"lost sums": {want: []string{"error blob-missing"}, make: func(t *testing.T, w *world) {
			m := w.manifest(t)
			w.lose(t, layer(&m, artifact.MediaTypeSums).Digest)
		}},
		"blob of another size": {want: []string{"error blob-size haiku_riscv64"}, make: func(t *testing.T, w *world) {
			w.editManifest(t, func(m *ocispec.Manifest) { layer(m, artifact.MediaTypeZip).Size++ })
		}},
		"rotten zip": {deep: true, want: []string{"error blob-damaged haiku_riscv64"}, make: func(t *testing.T, w *world) {
			m := w.manifest(t)
			w.corrupt(t, *layer(&m, artifact.MediaTypeZip))
		}},
		"rotten sums": {registry: true, want: []string{"error blob-damaged haiku_riscv64", "error blob-damaged plan9_mips"}, make: func(t *testing.T, w *world) {
			m := w.manifest(t)
			w.corrupt(t, *layer(&m, artifact.MediaTypeSums))
		}},
		"unsafe archive": {deep: true, stays: true, want: []string{"error annotation-zh haiku_riscv64", "error sums-differ haiku_riscv64", "error zip-refused haiku_riscv64"}, make: func(t *testing.T, w *world) {
			w.replace(t, artifact.MediaTypeZip, unsafeZip(t))
		}},
		"not executable": {deep: true, stays: true, want: []string{"error executable-mode haiku_riscv64"}, make: func(t *testing.T, w *world) {
			r := w.release(t)
			r.Archives[haiku] = origintest.Archive{Bytes: storedZip(t, "haiku", 0o644)}
			w.offer(t, r)
			w.mirror(t, publish.Options{Force: true})
		}},
		"h1 of another directory": {deep: true, want: []string{"error annotation-h1 haiku_riscv64"}, make: func(t *testing.T, w *world) {
			w.editIndex(t, func(x *ocispec.Index) {
				x.Manifests[0].Annotations["io.github.tofu-oci.h1-unpacked"] = "h1:" + strings.Repeat("A", 43) + "="
			})
		}},
		"other name": {want: []string{"error name-differs haiku_riscv64"}, make: func(t *testing.T, w *world) {
			w.editManifest(t, func(m *ocispec.Manifest) {
				layer(m, artifact.MediaTypeZip).Annotations[ocispec.AnnotationTitle] = "terraform-provider-thing_1.2.2_haiku_riscv64.zip"
			})
		}},
		"no sums": {want: []string{"warning sums-missing haiku_riscv64"}, make: func(t *testing.T, w *world) {
			w.editManifest(t, func(m *ocispec.Manifest) {
				m.Layers = slices.DeleteFunc(m.Layers, func(d ocispec.Descriptor) bool { return d.MediaType == artifact.MediaTypeSums })
			})
		}},
		"sums that are none": {want: []string{"error sums-malformed haiku_riscv64"}, make: func(t *testing.T, w *world) {
			w.replace(t, artifact.MediaTypeSums, []byte("<html>"))
		}},
		"sums of others": {want: []string{"error sums-unlisted haiku_riscv64"}, make: func(t *testing.T, w *world) {
			w.replace(t, artifact.MediaTypeSums, sums.New(map[string]digest.Digest{"terraform-provider-thing_1.2.3_plan9_mips.zip": digest.FromString("x")}).Bytes())
		}},
		"sums of other bytes": {want: []string{"error sums-differ haiku_riscv64"}, make: func(t *testing.T, w *world) {
			w.replace(t, artifact.MediaTypeSums, sums.New(map[string]digest.Digest{"terraform-provider-thing_1.2.3_haiku_riscv64.zip": digest.FromString("x")}).Bytes())
		}},
		"endless document": {layout: true, want: []string{"error document-unreadable haiku_riscv64"}, make: func(t *testing.T, w *world) {
			w.add(t, "terraform-provider-thing_1.2.3_SHA256SUMS.keys.asc", artifact.MediaTypeKeys, make([]byte, 5<<20))
		}},
		"bad signature": {want: []string{"error signature-bad"}, make: func(t *testing.T, w *world) {
			w.add(t, "terraform-provider-thing_1.2.3_SHA256SUMS.sig", artifact.MediaTypeSignature, []byte("no signature"))
		}},
		"zh of another zip": {want: []string{"error annotation-zh haiku_riscv64"}, make: func(t *testing.T, w *world) {
			w.editIndex(t, func(x *ocispec.Index) {
				x.Manifests[0].Annotations["io.github.tofu-oci.zh"] = sums.ZH(digest.FromString("x"))
			})
		}},
		"h1 of another zip": {deep: true, want: []string{"error annotation-h1 haiku_riscv64"}, make: func(t *testing.T, w *world) {
			w.editIndex(t, func(x *ocispec.Index) {
				x.Manifests[0].Annotations["io.github.tofu-oci.h1"] = "h1:" + strings.Repeat("A", 43) + "="
			})
		}},
		"no h1": {want: []string{"error annotation-h1 haiku_riscv64"}, make: func(t *testing.T, w *world) {
			w.editIndex(t, func(x *ocispec.Index) { x.Manifests[0].Annotations["io.github.tofu-oci.h1"] = "h2:x" })
		}},
		"other version": {want: []string{"error annotation-version"}, make: func(t *testing.T, w *world) {
			w.editIndex(t, func(x *ocispec.Index) { x.Annotations[ocispec.AnnotationVersion] = "1.2.4" })
		}},
		"no protocols": {want: []string{"warning annotation-protocols"}, make: func(t *testing.T, w *world) {
			w.editIndex(t, func(x *ocispec.Index) { x.Annotations["io.github.tofu-oci.protocols"] = "six" })
		}},
		"tag that misleads": {stays: true, want: []string{"error tag-without-version"}, make: func(t *testing.T, w *world) {
			_, x := w.index(t)
			if err := w.repo.PushTag(t.Context(), marshal(t, x.MediaType, x), "1.4", ""); err != nil {
				t.Fatal(err)
			}
		}},
		"lost referrer": {stays: true, want: []string{"warning referrer-unreadable"}, make: func(t *testing.T, w *world) {
			d, _ := w.index(t)
			sbom := artifact.NewDocument("terraform-provider-thing_1.2.3.spdx.json", artifact.MediaTypeSPDX, []byte(`{"spdxVersion":"SPDX-2.3"}`))
			if _, err := repository.Attach(t.Context(), w.repo, []provider.Document{sbom}, artifact.Blob{Descriptor: d}); err != nil {
				t.Fatal(err)
			}
			w.lose(t, sbom.Digest)
		}},
	}
}

// TestDefects checks that each defect causes exactly the expected findings, and that
// the remedy repairs the defect.
func TestDefects(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	for name, d := range defects() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachWorld(t, func(t *testing.T, w *world) {
				if d.layout && w.registry != nil || d.registry && w.registry == nil {
					return
				}
				d.make(t, w)
				report := w.verify(t, verify.Options{Deep: d.deep})
				if diff := cmp.Diff(d.want, found(report)); diff != "" {
					t.Fatalf("found (-want +got):\n%s%v", diff, report.Findings)
				}
				if d.stays {
					return
				}
				w.repair(t, report)
				if again := found(w.verify(t, verify.Options{Deep: true, Origin: w.source()})); len(again) > 0 {
					t.Errorf("after %q there still is %v", report.Findings[0].Remedy, again)
				}
			})
		})
	}
}

// TestSwappedTag checks that a tag that points to another version has one remedy, and that
// the remedy repairs the tag without deleting it.
func TestSwappedTag(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	eachWorld(t, func(t *testing.T, w *world) {
		other := w.version
		r := w.release(t)
		r.Version = "1.2.2"
		for p := range r.Archives {
			r.Archives[p] = origintest.Archive{Bytes: nouns.Zip(t, "another version for "+p.String())}
		}
		w.offer(t, r)
		w.version = nouns.Version(t, "1.2.2")
		w.mirror(t, publish.Options{})
		w.version = other
		d, data, err := w.repo.Manifest(t.Context(), "1.2.2")
		if err == nil {
			old, _ := w.index(t)
			err = w.repo.PushTag(t.Context(), artifact.Blob{Descriptor: d, Bytes: data}, tag, old.Digest)
		}
		if err != nil {
			t.Fatal(err)
		}
		report := w.verify(t, verify.Options{Deep: true, Origin: w.source()})
		commands := map[string]bool{}
		for _, f := range report.Findings {
			commands[f.Command] = true
		}
		if len(report.Findings) < 2 || len(commands) != 1 || !strings.HasSuffix(report.Findings[0].Command, " --force") || strings.Contains(report.Findings[0].Hint, "delete the tag") {
			t.Errorf("%d commands: %+v", len(commands), report.Findings)
		}
		w.repair(t, report)
		if again := found(w.verify(t, verify.Options{Deep: true, Origin: w.source()})); len(again) > 0 {
			t.Errorf("still %v", again)
		}
	})
}

// repair applies the remedies.
func (w *world) repair(t *testing.T, r verify.Report) {
	t.Helper()
	remedy := r.Findings[0].Command
	if !strings.Contains(remedy, "tofu-oci mirror ") {
		t.Fatalf("no command: %s", remedy)
	}
	o := publish.Options{Force: strings.Contains(remedy, "--force"), AgainstOrigin: strings.Contains(remedy, "--against-origin")}
	if strings.Contains(remedy, "--check-level deep") {
		o.Check = repository.DepthContent
	}
	w.mirror(t, o)
}

// TestAgainstOrigin checks the comparison with the origin registry.
func TestAgainstOrigin(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(t *testing.T, r *origintest.Release)
		want   []string
	}{
		"other bytes": {func(t *testing.T, r *origintest.Release) {
			r.Archives[haiku] = origintest.Archive{Bytes: nouns.Zip(t, "once more")}
		}, []string{"error bytes-differ haiku_riscv64"}},
		"one platform less": {func(_ *testing.T, r *origintest.Release) { delete(r.Archives, haiku) }, []string{"warning platform-withdrawn haiku_riscv64"}},
		"one platform more": {func(t *testing.T, r *origintest.Release) {
			r.Archives[provider.Platform{OS: "minix", Arch: "vax"}] = origintest.Archive{Bytes: nouns.Zip(t, "minix")}
		}, []string{"warning platform-missing minix_vax"}},
		"other protocols": {func(_ *testing.T, r *origintest.Release) { r.Protocols = []string{"6.0"} }, []string{"warning annotation-protocols"}},
		"sums of other bytes": {func(_ *testing.T, r *origintest.Release) {
			r.Sums = sums.New(map[string]digest.Digest{"terraform-provider-thing_1.2.3_haiku_riscv64.zip": digest.FromString("x")}).Bytes()
		}, []string{"warning origin-unverified"}},
		"bad signature": {func(_ *testing.T, r *origintest.Release) { r.Signature = []byte("none") }, []string{"warning origin-unverified"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachWorld(t, func(t *testing.T, w *world) {
				r := w.release(t)
				test.change(t, &r)
				w.offer(t, r)
				report := w.verify(t, verify.Options{Origin: w.source()})
				if diff := cmp.Diff(test.want, found(report)); diff != "" {
					t.Errorf("found (-want +got):\n%s%v", diff, report.Findings)
				}
			})
		})
	}
}

// TestWithdrawn checks releases whose version or provider has been removed from the
// origin registry.
func TestWithdrawn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	w.origin.Misbehave(origintest.Versions, origintest.Status(http.StatusNotFound), -1)
	if got := found(w.verify(t, verify.Options{Origin: w.source()})); !slices.Equal(got, []string{"warning release-withdrawn"}) {
		t.Error(got)
	}
}

// TestSignaturePolicy checks that refused signatures are errors, and that accepted
// signatures with a warning are warnings.
func TestSignaturePolicy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	for mode, want := range map[trust.Mode][]string{
		trust.ModeRequire: {"error signature-unsigned"}, trust.ModeWarn: {"warning signature-unsigned"}, trust.ModeOff: {},
	} {
		r := w.verify(t, verify.Options{Verify: trust.Policy{Mode: mode}.Verify})
		if got := found(r); !slices.Equal(got, want) || r.HasErrors() != (mode == trust.ModeRequire) {
			t.Errorf("%s: %v", mode, got)
		}
	}
}

// TestUnresponsiveRegistry checks that a registry or origin registry that doesn't
// respond is a failure, not a finding.
func TestUnresponsiveRegistry(t *testing.T) {
	t.Parallel()
	ask := func(w *world, o verify.Options) (verify.Report, error) {
		o.Template = w.template
		return verify.Repository(t.Context(), w.repo, []provider.Requirement{{Address: w.address}}, o)
	}
	for _, kind := range []registrytest.Kind{registrytest.ManifestGet, registrytest.BlobHead, registrytest.BlobGet} {
		w := newWorld(t, false)
		w.registry.Misbehave(kind, origintest.Status(http.StatusForbidden), -1)
		r, err := ask(w, verify.Options{})
		if err != nil || len(r.Findings) > 0 || len(r.Failed) != 1 || !errors.Is(r.Failed[0].Err, provider.ErrForbidden) {
			t.Errorf("%s: %v, %+v", kind, err, r)
		}
	}
	w := newWorld(t, false)
	w.origin.Misbehave(origintest.Versions, origintest.Status(http.StatusForbidden), -1)
	if r, err := ask(w, verify.Options{Origin: w.source()}); err != nil || len(r.Findings) > 0 || len(r.Failed) != 1 || r.Failed[0].Version != w.version {
		t.Errorf("origin: %v, %+v", err, r)
	}
	w = newWorld(t, false)
	w.origin.Misbehave(origintest.Versions, origintest.Status(http.StatusForbidden), 1) // only the list fails
	if r, err := ask(w, verify.Options{Origin: w.source()}); err != nil || len(r.Findings) > 0 || len(r.Failed) != 1 || r.Failed[0].Version != (provider.Version{}) {
		t.Errorf("list of the origin: %v, %+v", err, r)
	}
	w.registry.Misbehave(registrytest.Tags, origintest.Status(http.StatusForbidden), -1)
	if _, err := ask(w, verify.Options{}); !errors.Is(err, provider.ErrForbidden) {
		t.Errorf("tags: %v", err)
	}
}

// TestNoVersion checks that a missing version is a failure, and that a pre-release is
// selected by its exact version.
func TestNoVersion(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	_, x := w.index(t)
	if err := w.repo.PushTag(t.Context(), marshal(t, x.MediaType, x), "2.0.0-rc1", ""); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{"acme/thing@1.2.3": 1, "acme/thing@2.0.0-rc1": 1, "acme/thing": 1, "acme/thing@9.9.9": 0, "acme/thing@> 5": 0} {
		r, err := provider.ParseRequirement("registry.example.org/" + text)
		if err != nil {
			t.Fatal(err)
		}
		report, err := verify.Repository(t.Context(), w.repo, []provider.Requirement{r}, verify.Options{})
		unmet := slices.ContainsFunc(report.Failed, func(f verify.Failure) bool {
			return f.Wanted.String() == r.String() && f.Version == provider.Version{} && errors.Is(f.Err, provider.ErrVersionNotFound)
		})
		if err != nil || report.Releases != want || (want == 0) != unmet {
			t.Errorf("%s: %d releases, %v, %v", text, report.Releases, report.Failed, err)
		}
		if left := len(report.Skipped); (left == 1) != (text == "acme/thing") {
			t.Errorf("%s: %d pre-releases left out", text, left)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := verify.Repository(ctx, w.repo, []provider.Requirement{{Address: w.address}}, verify.Options{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestRules checks that every code of a finding has exactly one rule.
func TestRules(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, r := range verify.Rules() {
		if known[r.Code] || !strings.HasSuffix(r.Means, ".") {
			t.Errorf("%+v", r)
		}
		known[r.Code] = true
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "errors.md"))
	if err != nil {
		t.Fatal(err)
	}
	for code := range known {
		_, verdict, isVerdict := strings.Cut(code, "signature-")
		if !strings.Contains(string(page), "| `"+code+"` |") && (!isVerdict || !strings.Contains(string(page), "-"+verdict+"`")) {
			t.Errorf("docs/errors.md does not describe %s", code)
		}
	}
	for _, code := range codesInSources(t) {
		if !known[code] {
			t.Errorf("%s is not a rule", code)
		}
	}
	for name, d := range defects() {
		for _, text := range d.want {
			if code := strings.Fields(text)[1]; !known[code] {
				t.Errorf("%s: %s is not a rule", name, code)
			}
		}
	}
}

// codesInSources returns the codes that this package passes to addError and addWarning.
func codesInSources(t *testing.T) (codes []string) {
	t.Helper()
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	call := regexp.MustCompile(`\.(?:addError|addWarning)\("([a-z0-9-]+)"`)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range call.FindAllStringSubmatch(string(text), -1) {
			codes = append(codes, found[1])
		}
	}
	if len(codes) < 30 {
		t.Fatalf("%d codes in the sources", len(codes))
	}
	return codes
}

// TestFindingsAreBounded checks a release with a defect on each of many platforms. The
// findings use limited memory, and all of them are counted.
func TestFindingsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	var lost []digest.Digest
	w.editIndex(t, func(x *ocispec.Index) {
		entry := x.Manifests[0]
		for i := range 150 {
			entry.Platform = &ocispec.Platform{OS: "haiku", Architecture: "cpu" + strings.Repeat("x", i+1)}
			entry.Digest = digest.FromString(entry.Platform.Architecture)
			w.push(t, ocispec.Descriptor{Digest: entry.Digest, Size: int64(len(entry.Platform.Architecture))}, []byte(entry.Platform.Architecture))
			x.Manifests, lost = append(x.Manifests, entry), append(lost, entry.Digest)
		}
	})
	for _, d := range lost {
		w.lose(t, d)
	}
	r := w.verify(t, verify.Options{})
	if len(r.Findings) != 100 || r.More != 50 || r.Counts[finding.Error] != 150 {
		t.Errorf("%d findings and %d more, %v", len(r.Findings), r.More, r.Counts)
	}
}

// TestAudit checks that the report contains the decisions of a release and its SBOMs, and
// that the referrers list is read once, even if an approval is required.
func TestAudit(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w *world) {
		index, _ := w.index(t)
		record := func(kind, verdict string, change func(*artifact.Decision)) {
			t.Helper()
			d := repository.NewDecision(w.repo, kind, verdict, w.address, w.version)
			change(&d)
			if err := repository.Record(t.Context(), w.repo, d, index, nil); err != nil {
				t.Fatal(err)
			}
		}
		start := time.Now().Add(-time.Hour)
		by := func(gate string, after time.Duration) func(*artifact.Decision) {
			return func(d *artifact.Decision) {
				d.Gate, d.Reason, d.Time = gate+"@0123456789ab", "scanned", start.Add(after)
			}
		}
		record(artifact.DecisionGate, artifact.VerdictHold, by("scan", 0))
		record(artifact.DecisionPromote, artifact.VerdictAllow, func(d *artifact.Decision) {
			d.Repository, d.By, d.Time = "ghcr.io/acme/other", "mallory", start.Add(time.Second)
		})
		record(artifact.DecisionGate, artifact.VerdictAllow, by("scan", 2*time.Minute))
		record(artifact.DecisionGate, artifact.VerdictAllow, by("policy", 3*time.Minute))
		sbom := artifact.NewDocument("all.spdx.json", artifact.MediaTypeSPDX, []byte(`{"spdxVersion":"SPDX-2.3"}`))
		if _, err := repository.Attach(t.Context(), w.repo, []provider.Document{sbom}, artifact.Blob{Descriptor: index}); err != nil {
			t.Fatal(err)
		}
		before := w.requests(registrytest.Referrers)
		began := time.Now().Truncate(time.Second)
		r := w.verify(t, verify.Options{})
		if len(r.Findings) != 0 || len(r.Checked) != 1 {
			t.Fatalf("got %+v", r)
		}
		c := r.Checked[0]
		var got []string
		for _, d := range c.Decisions {
			got = append(got, fmt.Sprintf("%s%s %t", d.Gate, d.By, d.Foreign))
		}
		if diff := cmp.Diff([]string{"scan@0123456789ab false", "mallory true", "scan@0123456789ab false", "policy@0123456789ab false"}, got); diff != "" {
			t.Error(diff)
		}
		if !c.SBOM || len(c.Referrers) != 1 || c.Time.Before(began) || c.Time.After(time.Now()) {
			t.Errorf("got %+v", c)
		}
		approvers := trust.Policy{Mode: trust.ModeOff, Decisions: oci.Decisions, Rules: trust.Rules{{Pattern: pattern(t, "registry.example.org/*/*"), ApprovalKeys: []string{"AB"}}}}
		if got := found(w.verify(t, verify.Options{Verify: approvers.Verify})); !slices.Equal(got, []string{"error approval-missing"}) {
			t.Error(got)
		}
		const lists = 2 * 3 // two runs, each with the lists of an index and two manifests
		if n := w.requests(registrytest.Referrers) - before; w.registry != nil && n != lists {
			t.Errorf("%d referrers lists were read, not %d", n, lists)
		}
	})
}

func pattern(t *testing.T, text string) provider.Pattern {
	t.Helper()
	p, err := provider.ParsePattern(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// requests returns the number of requests of a kind. For layouts, it returns 0.
func (w *world) requests(kind registrytest.Kind) int {
	if w.registry == nil {
		return 0
	}
	return w.registry.Requests()[kind]
}
