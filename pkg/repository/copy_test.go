package repository_test

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

var byEquality = cmp.Options{
	cmpopts.EquateComparable(provider.Version{}), cmpopts.IgnoreFields(provider.Package{}, "Documents"), cmpopts.IgnoreFields(repository.CopyResult{}, "Documents"),
}

// TestCopy checks that Copy preserves digests and copies referrers, and that a second
// run writes nothing.
func TestCopy(t *testing.T) {
	t.Parallel()
	eachDirection(t, func(t *testing.T, from, to *end) {
		index := from.fill(t)
		done := from.wantCopied(t, to, repository.CopyOptions{})
		// The blobs are two zips, the checksums, the signature, the keys, one SBOM for both
		// packages, the config, and the documents of four referrers.
		var size int64
		for _, text := range []string{twoZips[haiku], twoZips[plan9], "sums", "signature", "keys", `{"spdxVersion":"SPDX-2.3"}`, "{}", "of a referrer"} {
			size += int64(len(text))
		}
		size += sbom(1).Size + sbom(2).Size
		want := repository.CopyResult{
			Tag: tag, Digest: index.Digest, Source: index.Digest, Tagged: true, Blobs: 10, Bytes: size, Referrers: 4,
			Packages: copied(t, true), Attached: []string{sbom(1).Name, sbom(2).Name, sbom(3).Name, "signature.json"},
		}
		if diff := cmp.Diff(want, done, byEquality); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		from.wantSameList(t, to, index.Digest)
		state := to.state(t)
		want.Was, want.Tagged, want.Blobs, want.Bytes, want.Packages, want.Attached = index.Digest, false, 0, 0, copied(t, false), nil
		if diff := cmp.Diff(want, from.wantCopied(t, to, repository.CopyOptions{}), byEquality); diff != "" {
			t.Errorf("the second run (-want +got):\n%s", diff)
		}
		if to.state(t) != state {
			t.Error("the second run wrote something")
		}
	})
}

// copied returns the expected results for both packages.
func copied(t *testing.T, sent bool) []repository.CopiedPackage {
	t.Helper()
	var all []repository.CopiedPackage
	for _, p := range []provider.Platform{haiku, plan9} {
		pkg := packageOf(t, p, twoZips[p])
		pkg.Documents = nil
		all = append(all, repository.CopiedPackage{Package: pkg, Sent: sent})
	}
	return all
}

// wantSameList compares the bytes of the referrers list if both ends store it under
// a tag.
func (e *end) wantSameList(t *testing.T, to *end, subject digest.Digest) {
	t.Helper()
	listed := artifact.ReferrersTag(subject)
	keeps := func(e *end) bool { return e.registry == nil || len(e.registry.Tags(t, e.ref.Name)) > 1 }
	if keeps(e) && keeps(to) && (e.at(t, listed) == "" || e.at(t, listed) != to.at(t, listed)) {
		t.Errorf("the referrers lists are %q and %q", e.at(t, listed), to.at(t, listed))
	}
}

// TestCopyListsDocuments checks that the result lists the release's documents once,
// and lists each package's documents with that package.
func TestCopyListsDocuments(t *testing.T) {
	t.Parallel()
	from, to := newEnd(t, nil), newEnd(t, nil)
	from.fill(t)
	done := from.wantCopied(t, to, repository.CopyOptions{})
	var kinds []provider.DocumentKind
	for _, d := range done.Documents {
		kinds = append(kinds, d.Kind)
	}
	for _, p := range done.Packages {
		for _, d := range p.Package.Documents {
			kinds = append(kinds, d.Kind)
		}
	}
	want := []provider.DocumentKind{provider.KindSums, provider.KindSignature, provider.KindKeys, provider.KindSBOM, provider.KindSBOM}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Error(diff)
	}
}

// TestCopyAddsReferrers checks that Copy adds referrers to an existing release. The
// source's list is copied unchanged, unless the target's list has more entries.
func TestCopyAddsReferrers(t *testing.T) {
	t.Parallel()
	eachDirection(t, func(t *testing.T, from, to *end) {
		index := from.push(t, twoZips)
		from.attach(t, index, sbom(1))
		from.wantCopied(t, to, repository.CopyOptions{})
		from.attach(t, index, sbom(2))
		if done := from.wantCopied(t, to, repository.CopyOptions{}); done.Tagged || done.Blobs != 1 || done.Referrers != 2 {
			t.Errorf("%+v", done)
		}
		from.wantSameList(t, to, index.Digest)
		to.attach(t, index, sbom(3))
		from.attach(t, index, sbom(4))
		if _, err := from.copyTo(t, to, repository.CopyOptions{}); err != nil {
			t.Fatal(err)
		}
		documents, err := repository.Documents(t.Context(), to.open(t), index.Digest)
		var names []string
		for _, d := range documents {
			names = append(names, d.Name)
		}
		if diff := cmp.Diff([]string{sbom(1).Name, sbom(2).Name, sbom(3).Name, sbom(4).Name}, names); diff != "" || err != nil {
			t.Errorf("%v %s", err, diff)
		}
	})
}

// TestCopyMounts checks that a copy within one registry transfers no content.
func TestCopyMounts(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"API", "tag"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			from := newEnd(t, endKinds[kind])
			to := from.neighbor(t)
			from.fill(t)
			before := from.registry.Requests()
			done, err := from.copyTo(t, to, repository.CopyOptions{})
			after := from.registry.Requests()
			if err != nil || done.Mounted != 10 || done.Blobs != 0 || done.Bytes != 0 {
				t.Errorf("%+v, %v", done, err)
			}
			for _, k := range []registrytest.Kind{registrytest.UploadPost, registrytest.UploadPut, registrytest.BlobGet} {
				if before[k] != after[k] {
					t.Errorf("%d requests of kind %s", after[k]-before[k], k)
				}
			}
			from.wantSame(t, to)
		})
	}
}

// TestCopyWithoutMounting checks that Copy sends the content if the registry does not
// mount the first blob. Copy does not try to mount the remaining blobs.
func TestCopyWithoutMounting(t *testing.T) {
	t.Parallel()
	for name, refuse := range map[string]func(r *registrytest.Registry){
		"202": func(*registrytest.Registry) {},
		"403": func(r *registrytest.Registry) {
			r.Misbehave(registrytest.Mount, registrytest.Refuse(http.StatusForbidden, "DENIED", "no access to the other repository"), -1)
		},
		"401": func(r *registrytest.Registry) {
			r.Misbehave(registrytest.Mount, registrytest.Refuse(http.StatusUnauthorized, "UNAUTHORIZED", "no access to the other repository"), -1)
		},
		"404": func(r *registrytest.Registry) {
			r.Misbehave(registrytest.Mount, registrytest.Refuse(http.StatusNotFound, "", ""), -1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from := newEnd(t, &registrytest.Options{NoMount: true})
			to := from.neighbor(t)
			from.fill(t)
			refuse(from.registry)
			before := from.registry.Requests()
			done := from.wantCopied(t, to, repository.CopyOptions{Concurrency: 1})
			after := from.registry.Requests()
			if done.Mounted != 0 || done.Blobs != 10 || after[registrytest.UploadPut]-before[registrytest.UploadPut] != 10 || after[registrytest.Mount] != 1 {
				t.Errorf("%+v, %v", done, after)
			}
		})
	}
}

// TestCopyMountFails checks that Copy fails if the registry responds to a mount with a
// server error. Copy does not treat this response as missing support.
func TestCopyMountFails(t *testing.T) {
	t.Parallel()
	from := newEnd(t, &registrytest.Options{})
	to := from.neighbor(t)
	from.fill(t)
	from.registry.Misbehave(registrytest.Mount, registrytest.Refuse(http.StatusInternalServerError, "UNKNOWN", "broken"), -1)
	if _, err := from.copyTo(t, to, repository.CopyOptions{}); err == nil || !strings.Contains(err.Error(), "mounting blob") {
		t.Errorf("got %v", err)
	}
	if to.at(t, tag) != "" {
		t.Error("it was tagged")
	}
}

// TestCopyRequests checks that Copy does not repeat requests.
func TestCopyRequests(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	from, to := newEnd(t, &registrytest.Options{}), newEnd(t, &registrytest.Options{})
	from.push(t, twoZips)
	reading := func(e *end) map[registrytest.Kind]int { return e.registry.Requests() }
	from.wantCopied(t, to, repository.CopyOptions{})
	for _, e := range []*end{from, to} {
		before := reading(e)
		if _, err := from.copyTo(t, to, repository.CopyOptions{}); err != nil {
			t.Fatal(err)
		}
		after := reading(e)
		got := map[registrytest.Kind]int{}
		for k, n := range after {
			if n -= before[k]; n != 0 {
				got[k] = n
			}
		}
		// Each end receives requests for the index and two manifests. The target also
		// receives requests for seven blobs. The source also receives requests for the
		// referrers of three manifests.
		want := map[registrytest.Kind]int{registrytest.ManifestGet: 3, registrytest.BlobHead: 7}
		if e == from {
			want = map[registrytest.Kind]int{registrytest.ManifestGet: 3, registrytest.Referrers: 3}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
	}
}

// TestCopyConcurrently checks that all concurrent copies of the same release succeed.
func TestCopyConcurrently(t *testing.T) {
	t.Parallel()
	eachTargetInBubble(t, func(t *testing.T, from, to *end) {
		from.fill(t)
		var group sync.WaitGroup
		var mu sync.Mutex
		tagged := 0
		for range 4 {
			group.Go(func() {
				done, err := from.copyTo(t, to, repository.CopyOptions{})
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				if done.Tagged {
					tagged++
				}
			})
		}
		group.Wait()
		from.wantSame(t, to)
		if tagged == 0 || tagged > 1 && to.registry == nil {
			t.Errorf("%d runs say that they wrote the tag", tagged)
		}
	})
}

// TestCopyProgress checks that Copy reports the progress of zips by name, and does not
// report small blobs.
func TestCopyProgress(t *testing.T) {
	t.Parallel()
	eachTarget(t, func(t *testing.T, from, to *end) {
		from.fill(t)
		var mu sync.Mutex
		began, ended, moved := map[string]int64{}, map[string]int{}, 0
		_, err := from.copyTo(t, to, repository.CopyOptions{Progress: provider.Progress{
			Begin: func(p provider.Package, size int64) { mu.Lock(); defer mu.Unlock(); began[p.Filename] = size },
			Advance: func(_ provider.Package, n int) {
				mu.Lock()
				defer mu.Unlock()
				moved += n
			},
			End: func(p provider.Package, err error) {
				mu.Lock()
				defer mu.Unlock()
				ended[p.Filename]++
				if err != nil {
					t.Error(err)
				}
			},
		}})
		if err != nil {
			t.Fatal(err)
		}
		want, total := map[string]int64{}, 0
		for p, zip := range twoZips {
			want[packageOf(t, p, zip).Filename] = int64(len(zip))
			total += len(zip)
		}
		if diff := cmp.Diff(want, began); diff != "" || len(ended) != 2 || moved != total {
			t.Errorf("%d ended, %d of %d bytes: %s", len(ended), moved, total, diff)
		}
	})
}

// TestCopyExtends checks that Copy adds missing platforms to an existing release.
func TestCopyExtends(t *testing.T) {
	t.Parallel()
	eachTarget(t, func(t *testing.T, from, to *end) {
		from.fill(t)
		was := to.push(t, map[provider.Platform]string{haiku: twoZips[haiku]})
		if done := from.wantCopied(t, to, repository.CopyOptions{}); !done.Tagged || done.Digest == was.Digest {
			t.Errorf("%+v", done)
		}
	})
}

// TestCopyWithoutReferrers checks that Copy with NoReferrers succeeds for a registry
// that can't store referrers.
func TestCopyWithoutReferrers(t *testing.T) {
	t.Parallel()
	from, to := newEnd(t, nil), newEnd(t, &registrytest.Options{NoReferrers: http.StatusNotFound, TagsAreDigests: true})
	index := from.fill(t)
	_, err := from.copyTo(t, to, repository.CopyOptions{})
	if !errors.Is(err, repository.ErrNoReferrersList) || to.at(t, tag) != "" {
		t.Errorf("%v, and the tag is at %q", err, to.at(t, tag))
	}
	done, err := from.copyTo(t, to, repository.CopyOptions{NoReferrers: true})
	if err != nil || done.Referrers != 0 || !done.Tagged || to.at(t, tag) != index.Digest {
		t.Errorf("%+v, %v", done, err)
	}
	// Copying back works without the option, because this registry contains no lists of
	// referrers.
	back := newEnd(t, nil)
	if done := to.wantCopied(t, back, repository.CopyOptions{}); done.Referrers != 0 {
		t.Errorf("%+v", done)
	}
}

// TestCopyRepairsMissingIndex checks that Copy repairs a layout whose tag points to a
// missing index.
func TestCopyRepairsMissingIndex(t *testing.T) {
	t.Parallel()
	from, to := newEnd(t, nil), newEnd(t, nil)
	index := from.fill(t)
	from.wantCopied(t, to, repository.CopyOptions{})
	lost := []digest.Digest{index.Digest, pack(t, twoZips).Manifests[1].Descriptor.Digest, digest.FromString(twoZips[haiku])}
	for _, d := range lost {
		to.lose(t, d)
	}
	done := from.wantCopied(t, to, repository.CopyOptions{})
	if !done.Tagged || done.Blobs != 1 {
		t.Errorf("%+v", done)
	}
	// The index exists now, but other content is missing or damaged.
	to.lose(t, lost[2])
	to.damage(t, artifact.Blob{Descriptor: ocispec.Descriptor{Digest: digest.FromString("sums")}, Bytes: []byte("sums")}, "!")
	if done := from.wantCopied(t, to, repository.CopyOptions{}); done.Tagged || done.Blobs != 2 {
		t.Errorf("%+v", done)
	}
}
