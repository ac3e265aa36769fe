package repository_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// other wraps a repository and overrides its capabilities.
type other struct {
	repository.Repository
	capabilities repository.Capabilities
}

func (o other) Capabilities() repository.Capabilities { return o.capabilities }

// TestInconsistentCapabilities checks that functions that inspect a repository reject
// inconsistent capabilities.
func TestInconsistentCapabilities(t *testing.T) {
	t.Parallel()
	path := func(digest.Digest) (string, error) { return "", nil }
	redirect := func(context.Context, ocispec.Descriptor) (string, error) { return "", nil }
	mount := func(context.Context, ocispec.Descriptor, string) (bool, error) { return true, nil }
	referrers := func(context.Context, digest.Digest) ([]ocispec.Descriptor, bool, error) { return nil, true, nil }
	for name, test := range map[string]struct {
		capabilities repository.Capabilities
		want         string
	}{
		"registry without a name":     {repository.Capabilities{Registry: "localhost:1"}, "Registry and Name must be set together"},
		"name without a registry":     {repository.Capabilities{Name: "acme/thing"}, "Registry and Name must be set together"},
		"files of a registry":         {repository.Capabilities{Registry: "localhost:1", Name: "a", BlobPath: path}, "BlobPath is set for a repository in the registry localhost:1"},
		"mount without a registry":    {repository.Capabilities{Mount: mount}, "Mount requires Registry"},
		"redirect without a registry": {repository.Capabilities{Redirect: redirect}, "Redirect requires Registry"},
		"referrers without registry ": {repository.Capabilities{Referrers: referrers}, "Referrers requires Registry"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, to := newEnd(t, nil), newEnd(t, nil)
			from.fill(t)
			_, inspected := repository.Inspect(t.Context(), other{from.open(t), test.capabilities}, tag, repository.DepthIndex)
			_, source := copyOver(t.Context(), other{from.open(t), test.capabilities}, to.open(t), repository.CopyOptions{})
			_, target := copyOver(t.Context(), from.open(t), other{to.open(t), test.capabilities}, repository.CopyOptions{Force: true})
			for what, err := range map[string]error{"inspected": inspected, "source": source, "target": target} {
				if provider.KindOf(err) != provider.Refused || !strings.Contains(err.Error(), test.want) {
					t.Errorf("%s: %v", what, err)
				}
			}
			if to.at(t, tag) != "" {
				t.Error("it was tagged")
			}
		})
	}
}

// TestCopyMovedTag checks a copy during which the source's tag moves. The copy does
// not tag the target, and the next run copies the new release.
func TestCopyMovedTag(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]*registrytest.Options{"API": {}, "tag": {NoReferrers: http.StatusNotFound}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, to := newEnd(t, o), newEnd(t, nil)
			was := from.push(t, map[provider.Platform]string{haiku: twoZips[haiku]})
			var now ocispec.Descriptor
			var once sync.Once
			from.registry.Misbehave(registrytest.BlobGet, func(w http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
				once.Do(func() { now = from.fill(t) })
				honest(w, r)
			}, -1)
			_, err := from.copyTo(t, to, repository.CopyOptions{})
			want := fmt.Sprintf("during the copy, the tag %s:%s moved from %s to %s", from.open(t), tag, was.Digest, now.Digest)
			if !errors.Is(err, repository.ErrTagMoved) || !strings.Contains(err.Error(), want) {
				t.Fatalf("got %v", err)
			}
			if to.at(t, tag) != "" {
				t.Error("it was tagged")
			}
			from.wantCopied(t, to, repository.CopyOptions{})
		})
	}
}

// TestCopyOfDeletedTag checks that Copy returns an error if the source's tag is deleted
// during the copy.
func TestCopyOfDeletedTag(t *testing.T) {
	t.Parallel()
	from, to := newEnd(t, &registrytest.Options{}), newEnd(t, nil)
	from.fill(t)
	var once sync.Once
	from.registry.Misbehave(registrytest.BlobGet, func(w http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		once.Do(func() { from.registry.Delete(t, repositoryName, tag) })
		honest(w, r)
	}, -1)
	_, err := from.copyTo(t, to, repository.CopyOptions{})
	if !errors.Is(err, repository.ErrTagMoved) || !strings.Contains(err.Error(), "to nothing: ") || to.at(t, tag) != "" {
		t.Errorf("got %v", err)
	}
}

// edited tags a release whose index was changed by edit, and returns its digest.
func (e *end) edited(t *testing.T, tag string, edit func(index string) string) digest.Digest {
	t.Helper()
	index := e.push(t, twoZips)
	_, data, err := e.open(t).Manifest(t.Context(), index.Digest.String())
	if err != nil {
		t.Fatal(err)
	}
	text := edit(string(data))
	if text == string(data) {
		t.Fatal("nothing was edited")
	}
	b := blob(text)
	b.Descriptor.MediaType = ocispec.MediaTypeImageIndex
	if e.at(t, tag) == "" {
		pushTag(t, e.open(t), b, tag, "")
	} else {
		pushTag(t, e.open(t), b, tag, index.Digest)
	}
	return b.Descriptor.Digest
}

// untag deletes a tag.
func (e *end) untag(t *testing.T, tag string) {
	t.Helper()
	if e.registry != nil {
		e.registry.Delete(t, e.ref.Name, tag)
		return
	}
	index := e.ref.Layout + "/" + ocispec.ImageIndexFile
	write(t, index, strings.ReplaceAll(read(t, index), `"`+ocispec.AnnotationRefName+`":"`+tag+`"`, `"x":""`))
}

// TestCopyIntoAnotherProvider checks that Copy requires Force to replace another
// provider's release, or to add a second provider to a repository.
func TestCopyIntoAnotherProvider(t *testing.T) {
	t.Parallel()
	foreign := func(index string) string { return strings.Replace(index, "acme/thing", "else/thing", 1) }
	for name, o := range endKinds {
		for _, there := range []string{tag, "9.9.9"} {
			t.Run(name+" "+there, func(t *testing.T) {
				t.Parallel()
				from, to := newEnd(t, nil), newEnd(t, o)
				from.fill(t)
				was := to.edited(t, there, foreign)
				if there != tag {
					to.untag(t, tag)
				}
				before := to.state(t)
				_, err := from.copyTo(t, to, repository.CopyOptions{})
				e, ok := errors.AsType[*repository.ProviderMismatchError](err)
				if !ok || e.Tag != there || e.Provider != "registry.example.org/else/thing" || !strings.Contains(err.Error(), "tag "+there+" points to provider registry.example.org/else/thing, not ") {
					t.Fatalf("got %v", err)
				}
				if to.state(t) != before || to.at(t, there) != was {
					t.Error("something was written")
				}
				from.wantCopied(t, to, repository.CopyOptions{Force: true})
			})
		}
	}
}

// TestCopyOverOtherArtifact checks that Copy requires Force to replace an artifact that
// is not a provider.
func TestCopyOverOtherArtifact(t *testing.T) {
	t.Parallel()
	eachTarget(t, func(t *testing.T, from, to *end) {
		from.fill(t)
		to.edited(t, tag, func(index string) string { return strings.Replace(index, artifact.TypeProvider, "application/x", 1) })
		before := to.state(t)
		_, err := from.copyTo(t, to, repository.CopyOptions{})
		_, isFormat := errors.AsType[*artifact.FormatError](err)
		if e, ok := errors.AsType[*repository.ProviderMismatchError](err); !ok || !isFormat || e.Provider != "" || to.state(t) != before {
			t.Fatalf("got %v", err)
		}
		from.wantCopied(t, to, repository.CopyOptions{Force: true})
	})
}

// TestCopyOverOtherZips checks that the conflict error lists all differences.
func TestCopyOverOtherZips(t *testing.T) {
	t.Parallel()
	minix := provider.Platform{OS: "minix", Arch: "vax"}
	for name, o := range endKinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, to := newEnd(t, nil), newEnd(t, o)
			from.fill(t)
			was := to.push(t, map[provider.Platform]string{haiku: twoZips[haiku], plan9: "built again", minix: "one more"})
			before := to.state(t)
			_, err := from.copyTo(t, to, repository.CopyOptions{})
			conflict, ok := errors.AsType[*repository.ConflictError](err)
			if !ok || len(conflict.Reasons) != 2 || conflict.Release != "registry.example.org/acme/thing "+tag ||
				!strings.HasPrefix(conflict.Reasons[0], "minix_vax exists in the target but not in the source") ||
				!strings.HasPrefix(conflict.Reasons[1], "plan9_mips64 has zip sha256:") {
				t.Fatalf("got %v", err)
			}
			if to.state(t) != before || to.at(t, tag) != was.Digest {
				t.Error("something was written")
			}
			if done := from.wantCopied(t, to, repository.CopyOptions{Force: true}); !done.Tagged {
				t.Errorf("%+v", done)
			}
		})
	}
}

// TestCopyOfIncompleteRelease checks that Copy reports missing or damaged content of
// the source and does not tag the target.
func TestCopyOfIncompleteRelease(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	packed, zip := pack(t, twoZips), blob(twoZips[plan9])
	is := func(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }
	mismatch := func(err error) bool { _, ok := errors.AsType[*sums.MismatchError](err); return ok }
	referrer, err := artifact.PackReferrer(sbom(1), packed.Index.Descriptor)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		// mounts is set if the registry would mount the damaged blob, because mounting
		// does not read its content.
		mounts bool
		harm   func(from *end)
		is     func(error) bool
		text   string
	}{
		"lost index": {false, func(from *end) {
			from.lose(t, packed.Index.Descriptor.Digest)
			if from.registry != nil { // a registry keeps tagged content
				from.untag(t, tag)
			}
		}, is(repository.ErrNotFound), ""},
		"lost manifest":            {false, func(from *end) { from.lose(t, packed.Manifests[0].Descriptor.Digest) }, is(repository.ErrNotFound), "manifest for haiku_riscv64: "},
		"lost zip":                 {false, func(from *end) { from.lose(t, zip.Descriptor.Digest) }, is(repository.ErrNotFound), zip.Descriptor.Digest.String()},
		"lost config":              {false, func(from *end) { from.lose(t, ocispec.DescriptorEmptyJSON.Digest) }, is(repository.ErrNotFound), "44136fa355b3"},
		"damaged zip":              {true, func(from *end) { from.damage(t, zip, "") }, mismatch, "checksum of terraform-provider-thing_1.2.3_plan9_mips64.zip is"},
		"longer zip":               {true, func(from *end) { from.damage(t, zip, "more") }, func(err error) bool { return err != nil }, ""},
		"lost blob of a referrer":  {false, func(from *end) { from.lose(t, sbom(1).Digest) }, is(repository.ErrNotFound), "reading the referrer " + referrer.Entry.Digest.String()},
		"no such tag":              {false, func(from *end) { from.untag(t, tag) }, is(repository.ErrNotFound), ""},
		"damaged blob of referrer": {true, func(from *end) { from.damage(t, blob(string(sbom(1).Bytes)), "") }, mismatch, "reading the referrer "},
	} {
		for kind, o := range endKinds {
			t.Run(name+" "+kind, func(t *testing.T) {
				t.Parallel()
				from := newEnd(t, o)
				from.fill(t)
				test.harm(from)
				targets := []*end{newEnd(t, nil), newEnd(t, &registrytest.Options{})}
				if !test.mounts {
					targets = append(targets, from.neighbor(t))
				}
				for _, to := range targets {
					_, err := from.copyTo(t, to, repository.CopyOptions{})
					if !test.is(err) || !strings.Contains(err.Error(), test.text) {
						t.Errorf("got %v", err)
					}
					if to.at(t, tag) != "" {
						t.Error("it was tagged")
					}
				}
			})
		}
	}
}

// TestCopySkipsDeletedReferrers checks that Copy skips listed referrers whose manifests
// were deleted, for example by a job that deletes untagged manifests.
func TestCopySkipsDeletedReferrers(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"layout", "tag"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			from, to := newEnd(t, endKinds[kind]), newEnd(t, nil)
			index := from.push(t, twoZips)
			from.attach(t, index, sbom(1), sbom(2))
			gone, err := artifact.PackReferrer(sbom(1), index)
			if err != nil {
				t.Fatal(err)
			}
			from.lose(t, gone.Entry.Digest)
			done, err := from.copyTo(t, to, repository.CopyOptions{})
			if err != nil || done.Referrers != 1 {
				t.Fatalf("%+v, %v", done, err)
			}
			documents, err := repository.Documents(t.Context(), to.open(t), index.Digest)
			if err != nil || len(documents) != 1 || documents[0].Name != sbom(2).Name {
				t.Errorf("%v, %v", documents, err)
			}
		})
	}
}

// TestCopyOfHostileReferrers checks that Copy ignores invalid digests in a list of
// referrers and limits the length of a chain of referrers.
func TestCopyOfHostileReferrers(t *testing.T) {
	t.Parallel()
	from, to := newEnd(t, nil), newEnd(t, nil)
	index := from.push(t, twoZips)
	list, err := artifact.AddReferrer(nil, ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: tag, Size: 1})
	if err != nil {
		t.Fatal(err)
	}
	pushTag(t, from.open(t), list, artifact.ReferrersTag(index.Digest), "")
	if done := from.wantCopiedBut(t, to); done.Referrers != 0 {
		t.Errorf("%+v", done)
	}
	subject := pack(t, twoZips).Manifests[0].Descriptor
	for range 10 {
		from.attach(t, subject, sbom(1))
		next, err := artifact.PackReferrer(sbom(1), subject)
		if err != nil {
			t.Fatal(err)
		}
		subject = next.Manifest.Descriptor
	}
	_, err = from.copyTo(t, newEnd(t, nil), repository.CopyOptions{})
	if _, ok := errors.AsType[*artifact.FormatError](err); !ok || !strings.Contains(err.Error(), "referrers are nested") {
		t.Errorf("got %v", err)
	}
}

// wantCopiedBut copies the release and checks that both tags point to the same index.
// It does not compare the referrers lists, because they differ.
func (e *end) wantCopiedBut(t *testing.T, to *end) repository.CopyResult {
	t.Helper()
	done, err := e.copyTo(t, to, repository.CopyOptions{})
	if err != nil || to.at(t, tag) != e.at(t, tag) {
		t.Fatalf("%+v, %v", done, err)
	}
	return done
}

// TestCopyToMovedTag checks that Copy does not overwrite a tag that another run has
// moved to another release.
func TestCopyToMovedTag(t *testing.T) {
	t.Parallel()
	eachTarget(t, func(t *testing.T, from, to *end) {
		from.fill(t)
		var theirs ocispec.Descriptor
		var once sync.Once
		repo := &watched{Repository: to.open(t), before: func(op string) error {
			if op == "tag" {
				once.Do(func() { theirs = to.push(t, map[provider.Platform]string{haiku: twoZips[haiku]}) })
			}
			return nil
		}}
		repo.only = tag
		done, err := copyOver(t.Context(), from.open(t), repo, repository.CopyOptions{})
		if !errors.Is(err, repository.ErrTagMoved) || done.Tagged || to.at(t, tag) != theirs.Digest {
			t.Errorf("%+v, %v", done, err)
		}
		from.wantCopied(t, to, repository.CopyOptions{})
	})
}

// TestCopyIsRefused checks that Copy returns the target's error regardless of which
// request the target rejects.
func TestCopyIsRefused(t *testing.T) {
	t.Parallel()
	for _, kind := range []registrytest.Kind{
		registrytest.ManifestGet, registrytest.ManifestPut, registrytest.UploadPost, registrytest.UploadPut,
	} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			from, to := newEnd(t, nil), newEnd(t, &registrytest.Options{})
			from.fill(t)
			to.registry.Misbehave(kind, func(w http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
				_, _ = io.Copy(io.Discard, r.Body)
				registrytest.Refuse(http.StatusForbidden, "DENIED", "not here")(w, r, honest)
			}, -1)
			_, err := from.copyTo(t, to, repository.CopyOptions{})
			to.registry.Behave()
			if !errors.Is(err, provider.ErrForbidden) || to.at(t, tag) != "" {
				t.Errorf("got %v", err)
			}
			if errors.Is(err, context.Canceled) {
				t.Errorf("the cause is hidden: %v", err)
			}
		})
	}
}

// TestCopyUnlistedTags checks that Copy does not check for other providers if the
// registry denies listing tags. If listing tags fails for a different reason, Copy
// fails.
func TestCopyUnlistedTags(t *testing.T) {
	t.Parallel()
	from, to := newEnd(t, nil), newEnd(t, &registrytest.Options{})
	from.fill(t)
	to.registry.Misbehave(registrytest.Tags, registrytest.Refuse(http.StatusForbidden, "DENIED", "no listing"), -1)
	from.wantCopied(t, to, repository.CopyOptions{})
	broken := newEnd(t, &registrytest.Options{})
	broken.registry.Misbehave(registrytest.Tags, origintest.Status(http.StatusInternalServerError), -1)
	if _, err := from.copyTo(t, broken, repository.CopyOptions{}); err == nil || broken.at(t, tag) != "" {
		t.Errorf("got %v", err)
	}
}
