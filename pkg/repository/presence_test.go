package repository_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// eachHeadQuirk runs a test for every quirk of HEAD requests, and without a quirk.
func eachHeadQuirk(t *testing.T, test func(t *testing.T, s *server, quirk string)) {
	t.Helper()
	for _, quirk := range append([]string{""}, registrytest.HeadQuirks...) {
		t.Run(quirk, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, registrytest.Options{})
			if quirk != "" {
				s.MisbehaveHead(quirk)
			}
			test(t, s, quirk)
		})
	}
}

// TestStatQuirks checks that Stat returns the size of blobs despite useless responses to
// HEAD requests, and that it sends such requests only once.
func TestStatQuirks(t *testing.T) {
	t.Parallel()
	eachHeadQuirk(t, func(t *testing.T, s *server, quirk string) {
		b, r := blob("content"), s.open(t)
		pushBlob(t, r, b)
		for range 3 {
			if size, err := r.Stat(t.Context(), b.Descriptor); size != 7 || err != nil {
				t.Errorf("got size %d, %v", size, err)
			}
		}
		n := s.Requests()
		if isHonest := quirk == "" || quirk == "no digest"; isHonest && (n[registrytest.BlobHead] != 3 || n[registrytest.BlobGet] != 0) || !isHonest && (n[registrytest.BlobHead] != 1 || n[registrytest.BlobGet] != 3) {
			t.Errorf("requests: %v", n)
		}
		for name, fault := range map[string]origintest.Fault{"no range": origintest.IgnoreRange(), "no length": origintest.Unsized(), "no total": origintest.Rewrite("Content-Range", "bytes 0-0/*")} {
			s.Misbehave(registrytest.BlobGet, fault, 1)
			if size, err := r.Stat(t.Context(), ocispec.Descriptor{Digest: b.Descriptor.Digest}); size != 7 || err != nil {
				t.Errorf("response with %s: size %d, %v", name, size, err)
			}
		}
		longer := b.Descriptor
		longer.Size = 8
		if size, err := r.Stat(t.Context(), longer); size != 7 || err != nil {
			t.Errorf("wrong expected size: got %d, %v", size, err)
		}
		s.AddBlob(repositoryName, digest.FromString("cut off").String(), nil)
		if size, err := r.Stat(t.Context(), ocispec.Descriptor{Digest: digest.FromString("cut off"), Size: 7}); size != 0 || err != nil {
			t.Errorf("empty blob: got %d, %v", size, err)
		}
		if size, err := r.Stat(t.Context(), blob("missing").Descriptor); !errors.Is(err, repository.ErrNotFound) {
			t.Errorf("missing blob: got %d, %v", size, err)
		}
	})
}

// TestTagQuirks checks that tags are written, compared, and deleted despite useless
// responses to HEAD requests.
func TestTagQuirks(t *testing.T) {
	t.Parallel()
	eachHeadQuirk(t, func(t *testing.T, s *server, quirk string) {
		r, ctx := s.open(t), t.Context()
		all := []artifact.Blob{index(t, "one"), index(t, "two")}
		one, two := all[0].Descriptor.Digest, all[1].Descriptor.Digest
		for n, step := range []struct {
			m    artifact.Blob
			was  digest.Digest
			want error
		}{{all[0], "", nil}, {all[0], "", nil}, {all[1], "", repository.ErrTagMoved}, {all[1], one, nil}, {all[0], one, repository.ErrTagMoved}} {
			if err := r.PushTag(ctx, step.m, tag, step.was); !errors.Is(err, step.want) {
				t.Errorf("step %d: %v", n, err)
			}
		}
		if n := s.Requests()[registrytest.ManifestHead]; (quirk == "refused" || quirk == "no digest") && n > 2 {
			t.Errorf("%d useless HEAD requests", n)
		}
		if err := r.Capabilities().DeleteTag(ctx, tag, one); !errors.Is(err, repository.ErrTagMoved) {
			t.Errorf("deleting another run's tag: %v", err)
		}
		if err := r.Capabilities().DeleteTag(ctx, tag, two); err != nil {
			t.Error(err)
		}
		if err := r.Capabilities().DeleteManifest(ctx, two, ""); err != nil || s.Manifest(t, repositoryName, two.String()) != nil {
			t.Errorf("deleting a manifest: %v", err)
		}
	})
}

// TestCopyQuirks checks that a copy with useless responses to HEAD requests is complete,
// and that a second copy sends nothing.
func TestCopyQuirks(t *testing.T) {
	t.Parallel()
	for _, quirk := range registrytest.HeadQuirks {
		t.Run(quirk, func(t *testing.T) {
			t.Parallel()
			from, to := newEnd(t, &registrytest.Options{}), newEnd(t, &registrytest.Options{NoReferrers: http.StatusNotFound})
			from.registry.MisbehaveHead(quirk)
			to.registry.MisbehaveHead(quirk)
			from.fill(t)
			from.wantCopied(t, to, repository.CopyOptions{})
			for _, rereads := range []bool{false, true} {
				writes := to.registry.Writes()
				if done := from.wantCopied(t, to, repository.CopyOptions{Reread: rereads}); done.Blobs != 0 || done.Repaired || to.registry.Writes() != writes {
					t.Errorf("the second copy wrote: %+v", done)
				}
			}
			from.lose(t, digest.FromString("sums"))
			pushBlob(t, from.open(t), blob("sums"))
			to.registry.AddBlob(repositoryName, digest.FromString("sums").String(), []byte("spam"))
			if done := from.wantCopied(t, to, repository.CopyOptions{Reread: true}); !done.Repaired {
				t.Errorf("%+v", done)
			}
		})
	}
}

// TestResent checks that content that a registry reports as existing, but misses when it
// checks a manifest, is sent again.
func TestResent(t *testing.T) {
	t.Parallel()
	// Smaller zips are sent without a HEAD request.
	zips := map[provider.Platform]string{haiku: strings.Repeat("h", 1<<20+1), plan9: strings.Repeat("p", 1<<20+1)}
	packed, lost := pack(t, zips), blob(zips[haiku])
	source := newEnd(t, nil)
	source.push(t, zips)
	for name, run := range map[string]func(t *testing.T, to *end) error{
		"push": func(t *testing.T, to *end) error {
			repo := to.open(t)
			was, err := repository.Inspect(t.Context(), repo, tag, repository.DepthBlobs)
			if err != nil {
				return err
			}
			_, _, err = repository.Push(t.Context(), repo, packed, was, repository.PushOptions{Resend: func(_ context.Context, zip digest.Digest) error {
				for _, content := range zips {
					if b := blob(content); b.Descriptor.Digest == zip {
						pushBlob(t, repo, b)
						return nil
					}
				}
				return repository.ErrNotFound
			}})
			return err
		},
		"copy": func(t *testing.T, to *end) error {
			_, err := source.copyTo(t, to, repository.CopyOptions{})
			return err
		},
	} {
		t.Run(name+", zip", func(t *testing.T) {
			t.Parallel()
			to := newEnd(t, &registrytest.Options{})
			pushBlob(t, to.open(t), blob(zips[plan9]))
			to.registry.Misbehave(registrytest.BlobHead, registrytest.Claim(lost.Descriptor), -1)
			if err := run(t, to); err != nil {
				t.Fatal(err)
			}
			to.registry.Behave()
			source.wantSame(t, to)
		})
		t.Run(name+", children", func(t *testing.T) {
			t.Parallel()
			to := newEnd(t, &registrytest.Options{})
			to.push(t, map[provider.Platform]string{haiku: zips[haiku]})
			pushBlob(t, to.open(t), blob(zips[plan9]))
			to.registry.Misbehave(registrytest.ManifestPut, registrytest.ForgetChildren(), -1)
			if err := run(t, to); err != nil {
				t.Fatal(err)
			}
			to.registry.Behave()
			source.wantSame(t, to)
		})
		t.Run(name+", never accepted", func(t *testing.T) {
			t.Parallel()
			to := newEnd(t, &registrytest.Options{})
			for _, zip := range zips {
				pushBlob(t, to.open(t), blob(zip))
			}
			to.registry.Misbehave(registrytest.ManifestPut, func(w http.ResponseWriter, req *http.Request, honest http.HandlerFunc) {
				if strings.HasSuffix(req.URL.Path, "/"+tag) {
					registrytest.Refuse(http.StatusNotFound, "MANIFEST_UNKNOWN", "manifest unknown: "+lost.Descriptor.Digest.String())(w, req, honest)
					return
				}
				honest(w, req)
			}, -1)
			before := to.registry.Requests()[registrytest.ManifestPut]
			err := run(t, to)
			if !errors.Is(err, repository.ErrContentLost) || !strings.Contains(err.Error(), lost.Descriptor.Digest.String()) {
				t.Errorf("got %v", err)
			}
			if n := to.registry.Requests()[registrytest.ManifestPut] - before; n != 2+1+2+1 {
				t.Errorf("%d manifests were sent", n)
			}
		})
	}
}

// TestRetagged checks that tagging an existing index sends its manifests again if the
// registry misses them when it checks the index.
func TestRetagged(t *testing.T) {
	t.Parallel()
	to := newEnd(t, &registrytest.Options{})
	index := to.push(t, twoZips)
	to.registry.Misbehave(registrytest.ManifestPut, registrytest.ForgetChildren(), -1)
	if err := to.open(t).PushTag(t.Context(), pack(t, twoZips).Index, "2.0.0", ""); err != nil || to.at(t, "2.0.0") != index.Digest {
		t.Fatal(err)
	}
	// A child that is gone can't be sent again.
	gone := pack(t, twoZips).Manifests[0].Descriptor.Digest
	to.lose(t, gone)
	writes := to.registry.Writes()
	err := to.open(t).PushTag(t.Context(), pack(t, twoZips).Index, "3.0.0", "")
	if err == nil || !strings.Contains(err.Error(), gone.String()) {
		t.Errorf("got %v", err)
	}
	if n := to.registry.Writes() - writes; n > 3 {
		t.Errorf("%d writing requests", n)
	}
}

// TestMountResent checks that a blob that a registry reports as mounted, but doesn't
// have, is sent.
func TestMountResent(t *testing.T) {
	t.Parallel()
	from := newEnd(t, &registrytest.Options{})
	from.push(t, twoZips)
	to := from.neighbor(t)
	from.registry.Misbehave(registrytest.Mount, origintest.Status(http.StatusCreated), -1)
	from.wantCopied(t, to, repository.CopyOptions{})
}

// TestMissingFeatures checks that a repository reports which features its registry lacks.
func TestMissingFeatures(t *testing.T) {
	t.Parallel()
	for quirk, want := range map[string]repository.MissingFeatures{
		"":             {},
		"no length":    {BlobHead: true, ManifestSize: true},
		"length zero":  {BlobHead: true},
		"wrong length": {BlobHead: true},
		"refused":      {BlobHead: true, ManifestHead: true},
		"no digest":    {ManifestHead: true},
		"no ranges":    {BlobRanges: true},
	} {
		t.Run(quirk, func(t *testing.T) {
			t.Parallel()
			s := newMemoryServer(t, registrytest.Options{})
			r, b, m := s.open(t), blob("content"), index(t, "a")
			pushBlob(t, r, b)
			pushTag(t, r, m, "a", "")
			if got := r.Capabilities().Missing(); got != (repository.MissingFeatures{}) {
				t.Errorf("before any response was useless: %+v", got)
			}
			switch quirk {
			case "":
			case "no ranges":
				s.Misbehave(registrytest.BlobGet, func(w http.ResponseWriter, req *http.Request, honest http.HandlerFunc) {
					req.Header.Del("Range")
					honest(w, req)
				}, -1)
			default:
				s.MisbehaveHead(quirk)
			}
			for _, d := range []ocispec.Descriptor{b.Descriptor, {Digest: b.Descriptor.Digest}} {
				if size, err := r.Stat(t.Context(), d); err != nil || size != b.Descriptor.Size {
					t.Errorf("got %d bytes, %v", size, err)
				}
			}
			pushTag(t, r, m, "a", "") // reads the tag
			if got := r.Capabilities().Missing(); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}
