package repository_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

const prunedTag = "pruned-1.2.3"

// pruneKinds contains the kinds of repositories in which versions are pruned.
var pruneKinds = map[string]*registrytest.Options{
	"layout": nil, "registry": {}, "no referrers API": {NoReferrers: http.StatusNotFound}, "pages": {PageSize: 1},
	"deletes manifests with tags": {DeletesManifests: true}, "keeps tags of manifests": {KeepsTags: true}, "deletes tags first": {TagsFirst: true},
}

func eachPruned(t *testing.T, test func(t *testing.T, e *end)) {
	t.Helper()
	for name, o := range pruneKinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newEnd(t, o))
		})
	}
}

// pushAs stores a release under the given tag. If the tag contains a version, the
// release has this version.
func (e *end) pushAs(t *testing.T, tag string, zips map[provider.Platform]string) digest.Digest {
	t.Helper()
	index, err := e.tryPushAs(t.Context(), t, e.open(t), tag, zips)
	if err != nil {
		t.Fatal(err)
	}
	return index
}

func (e *end) tryPushAs(ctx context.Context, t *testing.T, repo repository.Repository, tag string, zips map[provider.Platform]string) (digest.Digest, error) {
	t.Helper()
	packed := packEdited(t, zips, func(r *provider.Release) {
		if v, ok := artifact.ParseTag(tag); ok {
			r.Version = v
		}
	})
	for {
		was, err := repository.Inspect(ctx, repo, tag, repository.DepthManifests)
		if err != nil {
			return "", err
		}
		for _, zip := range zips {
			if _, err := repo.Stat(ctx, ocispec.Descriptor{Digest: digest.FromString(zip)}); err != nil {
				if err := repo.PushBlob(ctx, blob(zip).Descriptor, streamed([]byte(zip))); err != nil {
					return "", err
				}
			}
		}
		now, _, err := repository.Push(ctx, repo, packed, was, repository.PushOptions{})
		if !errors.Is(err, repository.ErrTagMoved) {
			return now.Digest, err
		}
	}
}

// tagAs points another tag to a manifest.
func (e *end) tagAs(t *testing.T, tag string, d digest.Digest) {
	t.Helper()
	descriptor, data, err := e.open(t).Manifest(t.Context(), d.String())
	if err != nil {
		t.Fatal(err)
	}
	pushTag(t, e.open(t), artifact.Blob{Descriptor: descriptor, Bytes: data}, tag, e.at(t, tag))
}

func (e *end) prune(t *testing.T) digest.Digest {
	t.Helper()
	index, err := repository.Prune(t.Context(), e.open(t), nouns.Version(t, tag), "")
	if err != nil {
		t.Fatal(err)
	}
	return index
}

// restore restores the pruned version.
func restore(ctx context.Context, t *testing.T, repo repository.Repository) (digest.Digest, error) {
	t.Helper()
	a, v := thing(t)
	r, err := approval.Restore(ctx, repo, a, v, publish.ActionMirror, approval.PromoteOptions{})
	return r.Digest, err
}

func (e *end) deletePruned(t *testing.T) error {
	t.Helper()
	return repository.DeletePruned(t.Context(), e.open(t), nouns.Version(t, tag), "")
}

// wantTags checks what the tag of the version and its pruned tag point to.
func (e *end) wantTags(t *testing.T, version, pruned digest.Digest) {
	t.Helper()
	if at := e.at(t, tag); at != version {
		t.Errorf("%s points to %q, want %q", tag, at, version)
	}
	if at := e.at(t, prunedTag); at != pruned {
		t.Errorf("%s points to %q, want %q", prunedTag, at, pruned)
	}
}

// errDead is returned for all requests after the process was killed.
var errDead = errors.New("the process is dead")

// life counts the steps that a process has left.
type life struct{ left atomic.Int64 }

// killed returns the repository of a process that is killed after a number of steps. A
// step is a request or, in a layout, a check of the context. If late is set, the
// registry handles the last request.
func (e *end) killed(t *testing.T, steps int, late bool) (context.Context, repository.Repository, *life) {
	t.Helper()
	l := &life{}
	l.left.Store(int64(steps))
	if e.registry == nil {
		return mortalContext{t.Context(), l}, e.open(t), l
	}
	client := *e.options.HTTP
	client.Transport = mortalTransport{e.options.HTTP.Transport, l, late}
	mortal := *e
	mortal.options.HTTP = &client
	return t.Context(), mortal.open(t), l
}

// isDead reports whether the process was killed.
func (l *life) isDead() bool { return l.left.Load() < 0 }

type mortalContext struct {
	context.Context //nolint:containedctx // mortalContext replaces the Err method
	*life
}

func (c mortalContext) Err() error {
	if c.left.Add(-1) < 0 {
		return errDead
	}
	return nil
}

type mortalTransport struct {
	next http.RoundTripper
	*life
	late bool
}

func (m mortalTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	left := m.left.Add(-1)
	if left >= 0 || left == -1 && m.late {
		resp, err := m.next.RoundTrip(req)
		if left >= 0 {
			return resp, err
		}
		if err == nil {
			_ = resp.Body.Close()
		}
	}
	return nil, errDead
}

// hooked calls a function after writing each tag.
type hooked struct {
	repository.Repository
	pushed func(tag string)
}

func (h hooked) PushTag(ctx context.Context, m artifact.Blob, tag string, was digest.Digest) error {
	err := h.Repository.PushTag(ctx, m, tag, was)
	h.pushed(tag)
	return err
}
