package publish_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/builddir"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

func TestLocalCreated(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		dir := w.dist(t, nil, all...)
		result := w.publishLocal(t, to, publish.Created, dir, publish.Options{})
		wantSent(t, result, all...)
		r := w.wantStored(t, to, all...)
		w.wantSums(t, r, all...)
		for _, p := range r.Packages {
			if !strings.HasPrefix(p.H1, "h1:") {
				t.Errorf("%s has no h1", p.Platform)
			}
		}
		// A second run sends nothing and runs no program.
		state := to.state(t)
		again := w.publishLocal(t, to, publish.Unchanged, dir, publish.Options{SBOM: untouchable})
		wantSent(t, again)
		if to.state(t) != state {
			t.Error("unexpected writes")
		}
		if to.registry != nil && to.registry.Requests()[registrytest.BlobGet] != len(all)+1 { // wantStored reads the zips
			t.Error("blobs were read back")
		}
	})
}

// TestLocalMatrix checks that jobs that publish one platform each produce the same
// index in any order.
func TestLocalMatrix(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		fresh := func() *target {
			if to.registry == nil {
				return w.layout(t)
			}
			return w.registry(t, registrytest.Options{})
		}
		direct := w.publishLocal(t, to, publish.Created, w.dist(t, nil, haiku, minix, zos), publish.Options{}).Digest
		for _, order := range [][]provider.Platform{{haiku, minix, zos}, {zos, minix, haiku}, {minix, zos, haiku}} {
			job, want := fresh(), publish.Created
			for _, p := range order {
				result := w.publishLocal(t, job, want, w.dist(t, nil, p), publish.Options{})
				wantSent(t, result, p)
				want = publish.Extended
			}
			w.wantSums(t, w.wantStored(t, job, haiku, minix, zos), haiku, minix, zos)
			if job.digest(t) != direct {
				t.Errorf("%v: got a different index", order)
			}
		}
	})
}

// TestLocalMatrixConcurrent runs six jobs concurrently against a registry without atomic
// tags.
func TestLocalMatrixConcurrent(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	w := newWorld(t, origintest.Options{})
	platforms := []provider.Platform{haiku, minix, plan9, {OS: "plan9", Arch: "vax"}, {OS: "zos", Arch: "alpha"}, zos}
	dirs := map[provider.Platform]string{}
	for _, p := range platforms {
		w.zips[p] = zipOf(t, p.String())
		dirs[p] = w.dist(t, map[string]string{"_" + p.String() + ".spdx.json": `{"spdxVersion":"SPDX-2.3"}`, ".intoto.jsonl": "{}\n"}, p)
	}
	for round := range 4 {
		// In the bubble, the delay after which a job reads its tag again is longer than
		// the time that any other job takes to write the tag.
		synctest.Test(t, func(t *testing.T) {
			to := registryInMemory(t, registrytest.Options{NoReferrers: 404 * (round % 2)})
			var group sync.WaitGroup
			for _, p := range platforms {
				group.Go(func() {
					result, err := w.runLocal(t, to, dirs[p], publish.Options{})
					if err != nil || result.Slow {
						t.Errorf("%s: %+v, %v", p, result, err)
					}
				})
			}
			group.Wait()
			r := w.wantStored(t, to, platforms...)
			w.wantSums(t, r, platforms...)
			for _, p := range r.Packages {
				if len(p.Documents) != 1 {
					t.Errorf("round %d: %s has %d documents", round, p.Platform, len(p.Documents))
				}
			}
			w.wantReferring(t, to, stem+".intoto.jsonl")
		})
	}
}

// TestLocalMatrixOverwritten checks that a job recovers if another job overwrites the
// tag after it was confirmed.
func TestLocalMatrixOverwritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	synctest.Test(t, func(t *testing.T) {
		to := registryInMemory(t, registrytest.Options{})
		to.registry.Overwrite("1.2.3")
		var group sync.WaitGroup
		for _, p := range []provider.Platform{haiku, zos} {
			dir := w.dist(t, nil, p)
			group.Go(func() {
				if _, err := w.runLocal(t, to, dir, publish.Options{}); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		w.wantSums(t, w.wantStored(t, to, haiku, zos), haiku, zos)
	})
}

// TestLocalTagMovesDuringMerge checks that a run restarts if the tag moves after the
// index was read.
func TestLocalTagMovesDuringMerge(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		w.publishLocal(t, to, publish.Created, w.dist(t, nil, haiku, minix), publish.Options{})
		var once sync.Once
		repo := &statted{Repository: to.open(t), before: func(d digest.Digest) {
			if d != w.zipDigest(haiku) {
				return
			}
			once.Do(func() {
				_, data, err := to.open(t).Manifest(t.Context(), "1.2.3")
				var index ocispec.Index
				if err := errors.Join(err, json.Unmarshal(data, &index)); err != nil {
					t.Error(err)
				}
				index.Manifests = index.Manifests[1:]
				to.plant(t, ocispec.MediaTypeImageIndex, index)
			})
		}}
		result, err := w.runLocalOver(t, repo, w.dist(t, nil, zos), publish.Options{})
		if err != nil || result.Moved != 1 {
			t.Errorf("%+v, %v", result, err)
		}
		w.wantStored(t, to, minix, zos)
	})
}

// TestLocalDigestMatchesTag checks that, if another run extends the release, the result
// contains the digest that the tag points to. Users sign the index with this digest.
func TestLocalDigestMatchesTag(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		var once sync.Once
		repo := &watched{Repository: to.open(t), after: func() {
			once.Do(func() { w.publishLocal(t, to, publish.Extended, w.dist(t, nil, zos), publish.Options{}) })
		}}
		result, err := w.runLocalOver(t, repo, w.dist(t, nil, haiku), publish.Options{})
		if err != nil || result.Digest != to.digest(t) {
			t.Errorf("the result contains %s, but the tag points to %s; %v", result.Digest, to.digest(t), err)
		}
	})
}

// TestLocalSums checks that the publisher's SHA256SUMS and signatures are stored
// unchanged.
func TestLocalSums(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		listing := "# by hand\n" + w.listing(all...)
		listing = strings.TrimPrefix(listing, "# by hand\n") + strings.Repeat("0", 64) + "  " + stem + "_manifest.json\n"
		files := map[string]string{"_SHA256SUMS": listing, "_SHA256SUMS.sig": "sig", "_SHA256SUMS.asc": "asc"}
		w.publishLocal(t, to, publish.Created, w.dist(t, files, haiku), publish.Options{})
		// If a job has no SHA256SUMS, the stored file must list its package.
		w.publishLocal(t, to, publish.Extended, w.dist(t, nil, zos), publish.Options{})
		r := w.wantStored(t, to, haiku, zos)
		if got, _ := r.Document(provider.KindSums); string(got.Bytes) != listing {
			t.Errorf("SHA256SUMS is %q", got.Bytes)
		}
		if diff := cmp.Diff([]string{stem + "_SHA256SUMS", stem + "_SHA256SUMS.asc", stem + "_SHA256SUMS.sig"}, documents(t, r, provider.Platform{})); diff != "" {
			t.Errorf("documents (-want +got):\n%s", diff)
		}
	})
}

// TestLocalSignedSumsMismatch checks that a signature is dropped only with Force, and
// that Force keeps all platforms.
func TestLocalSignedSumsMismatch(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		signed := map[string]string{"_SHA256SUMS": w.listing(haiku, minix), "_SHA256SUMS.sig": "sig"}
		w.publishLocal(t, to, publish.Created, w.dist(t, signed, haiku, minix), publish.Options{})
		was, state, job := to.digest(t), to.state(t), w.dist(t, nil, zos)
		for _, o := range []publish.Options{{}, {DryRun: true}} {
			_, err := w.runLocal(t, to, job, o)
			if _, ok := errors.AsType[*repository.ConflictError](err); !ok {
				t.Fatal(err)
			}
			wantText(t, err, "publishing registry.example.org/acme/thing 1.2.3: conflict with the existing release: ",
				"the stored "+stem+"_SHA256SUMS does not match the package for zos_s390x, and the source has no replacement: SHA256SUMS does not list "+stem+"_zos_s390x.zip")
		}
		if to.wantTag(t, was); to.state(t) != state {
			t.Error("unexpected writes")
		}
		w.publishLocal(t, to, publish.Replaced, job, publish.Options{Force: true})
		r := w.wantStored(t, to, haiku, minix, zos)
		w.wantSums(t, r, haiku, minix, zos)
		if _, has := r.Document(provider.KindSignature); has {
			t.Error("the signature is for a different SHA256SUMS")
		}
	})
}

// TestLocalUnsignedSumsMismatch checks that unsigned checksums are regenerated if they
// do not match.
func TestLocalUnsignedSumsMismatch(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		w.publishLocal(t, to, publish.Created, w.dist(t, map[string]string{"_SHA256SUMS": w.listing(haiku)}, haiku), publish.Options{})
		w.publishLocal(t, to, publish.Extended, w.dist(t, nil, zos), publish.Options{})
		w.wantSums(t, w.wantStored(t, to, haiku, zos), haiku, zos)
	})
}

// TestLocalSumsLackStoredPlatform checks that new signed checksums that do not list a
// stored platform are a conflict.
func TestLocalSumsLackStoredPlatform(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		w.publishLocal(t, to, publish.Created, w.dist(t, nil, haiku), publish.Options{})
		was := to.digest(t)
		_, err := w.runLocal(t, to, w.dist(t, map[string]string{"_SHA256SUMS": w.listing(zos), "_SHA256SUMS.sig": "sig"}, zos), publish.Options{})
		wantText(t, err, "the new "+stem+"_SHA256SUMS does not match the stored package for haiku_riscv64: SHA256SUMS does not list")
		to.wantTag(t, was)
	})
}

func TestLocalConflict(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		w.publishLocal(t, to, publish.Created, w.dist(t, nil, haiku, zos), publish.Options{})
		was := to.digest(t)
		w.zips[haiku] = zipOf(t, "built again")
		_, err := w.runLocal(t, to, w.dist(t, nil, haiku), publish.Options{})
		wantText(t, err, "haiku_riscv64 has zip sha256:", ", but the source has "+w.zipDigest(haiku).String())
		to.wantTag(t, was)
		w.publishLocal(t, to, publish.Replaced, w.dist(t, nil, haiku), publish.Options{Force: true})
		w.wantSums(t, w.wantStored(t, to, haiku, zos), haiku, zos)
	})
}

// TestLocalDocumentsAreKept checks that a package's documents are kept when other
// platforms are added, and when a lost zip is restored without its documents.
func TestLocalDocumentsAreKept(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		files := map[string]string{
			"_haiku_riscv64.zip.sig": "sig", "_haiku_riscv64.spdx.json": `{"spdxVersion":"SPDX-2.3"}`, "_manifest.json": `{"metadata":{"protocol_versions":["6.0"]}}`,
		}
		want := []string{stem + "_haiku_riscv64.zip.sig", stem + "_haiku_riscv64.spdx.json"}
		w.publishLocal(t, to, publish.Created, w.dist(t, files, haiku), publish.Options{})
		check := func(platforms ...provider.Platform) {
			t.Helper()
			r := w.wantStored(t, to, platforms...)
			if diff := cmp.Diff(want, documents(t, r, haiku)); diff != "" {
				t.Errorf("documents of haiku (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"6.0"}, r.Protocols); diff != "" {
				t.Errorf("protocols (-want +got):\n%s", diff)
			}
		}
		check(haiku)
		w.publishLocal(t, to, publish.Extended, w.dist(t, nil, zos), publish.Options{})
		check(haiku, zos)
		to.lose(t, w.zipDigest(haiku))
		result := w.publishLocal(t, to, publish.Repaired, w.dist(t, nil, haiku), publish.Options{SBOM: untouchable})
		wantSent(t, result, haiku)
		check(haiku, zos)
	})
}

// TestLocalRepairsAll checks that a run for one platform also restores the lost zip of
// a different platform, so that the checksums cover both platforms.
func TestLocalRepairsAll(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		dir := w.dist(t, nil, haiku, zos)
		was := w.publishLocal(t, to, publish.Created, dir, publish.Options{}).Digest
		to.lose(t, w.zipDigest(haiku))
		to.lose(t, w.zipDigest(zos))
		result := w.publishLocal(t, to, publish.Repaired, dir, publish.Options{Platforms: []provider.Platform{zos}})
		if result.Digest != was {
			t.Error("got a different index")
		}
		w.wantSums(t, w.wantStored(t, to, haiku, zos), haiku, zos)
	})
}

// TestLocalCannotRepair checks the error if the source does not have a lost zip.
func TestLocalCannotRepair(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		w.publishLocal(t, to, publish.Created, w.dist(t, nil, haiku), publish.Options{})
		was := to.digest(t)
		to.lose(t, w.zipDigest(haiku))
		_, err := w.runLocal(t, to, w.dist(t, nil, zos), publish.Options{})
		wantText(t, err, "the package for haiku_riscv64 is damaged in the repository, and the source does not have it; publish it together with the other packages")
		to.wantTag(t, was)
	})
}

// annotations returns the annotations of the tagged index, except the annotations of
// the provider and the version.
func (to *target) annotations(t *testing.T) map[string]string {
	t.Helper()
	_, data, err := to.open(t).Manifest(t.Context(), "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	index, err := artifact.ParseIndex(data)
	if err != nil {
		t.Fatal(err)
	}
	delete(index.Annotations, artifact.AnnotationProvider)
	delete(index.Annotations, ocispec.AnnotationVersion)
	return index.Annotations
}

func TestLocalAnnotations(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		ask := func(want publish.Status, dir string, kept bool, annotations map[string]string) {
			t.Helper()
			if got := w.publishLocal(t, to, want, dir, publish.Options{Index: artifact.Options{Annotations: annotations}}).AnnotationsKept; got != kept {
				t.Errorf("%v: annotations kept: %t", annotations, got)
			}
		}
		one, two := w.dist(t, nil, haiku), w.dist(t, nil, haiku, zos)
		ask(publish.Created, one, false, map[string]string{"team": "a", "cost": "1"})
		// If only the annotations differ, the release is not updated. The result
		// reports that the old annotations were kept.
		ask(publish.Unchanged, one, false, map[string]string{"team": "a"})
		ask(publish.Unchanged, one, true, map[string]string{"team": "b"})
		ask(publish.Unchanged, one, false, nil)
		if diff := cmp.Diff(map[string]string{"team": "a", "cost": "1"}, to.annotations(t)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		ask(publish.Extended, two, false, map[string]string{"team": "b", "new": "2"})
		if diff := cmp.Diff(map[string]string{"team": "b", "cost": "1", "new": "2"}, to.annotations(t)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestLocalZipChanges changes a zip after it was inspected and before it is sent.
func TestLocalZipChanges(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(t *testing.T, path string)
		want   string
	}{
		"other bytes": {func(t *testing.T, path string) { rewrite(t, path, func(b []byte) []byte { b[40] ^= 1; return b }) }, "checksum of " + stem + "_haiku_riscv64.zip is"},
		"shorter":     {func(t *testing.T, path string) { rewrite(t, path, func(b []byte) []byte { return b[:len(b)-1] }) }, "ends after 4194463 of 4194464 bytes"},
		"gone": {func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}, stem + "_haiku_riscv64.zip"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
				w.zips[haiku] = bigZip(t)
				dir := w.dist(t, nil, haiku)
				src, err := builddir.New(w.address, dir)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := src.Release(t.Context(), w.address, w.version); err != nil {
					t.Fatal(err)
				}
				var once sync.Once
				repo := &statted{Repository: to.open(t), before: func(d digest.Digest) {
					if d == w.zipDigest(haiku) {
						once.Do(func() { test.change(t, filepath.Join(dir, w.filename(haiku))) })
					}
				}}
				_, err = w.publisher().Release(t.Context(), src, repo, w.address, w.version, publish.Options{})
				wantText(t, err, test.want)
				if _, is := errors.AsType[*sums.MismatchError](err); is != (name == "other bytes") {
					t.Errorf("got %v", err)
				}
				to.wantTag(t, "")
				if to.has(t, w.zipDigest(haiku)) {
					t.Error("the zip exists")
				}
			})
		})
	}
}

func rewrite(t *testing.T, path string, change func([]byte) []byte) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, change(data))
}
