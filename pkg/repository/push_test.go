package repository_test

import (
	"errors"
	"net/http"
	"sync"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// TestPushOrder checks that Push writes blobs, then manifests, and the tag last. A
// second push writes nothing.
func TestPushOrder(t *testing.T) {
	t.Parallel()
	eachEnd(t, func(t *testing.T, e *end) {
		packed := pack(t, twoZips)
		for _, zip := range twoZips {
			pushBlob(t, e.open(t), blob(zip))
		}
		var mu sync.Mutex
		var ops []string
		repo := &watched{Repository: e.open(t), before: func(op string) error {
			mu.Lock()
			defer mu.Unlock()
			if n := len(ops); n == 0 || ops[n-1] != op {
				ops = append(ops, op)
			}
			return nil
		}}
		push := func() repository.Inspection {
			was, err := repository.Inspect(t.Context(), repo, tag, repository.DepthBlobs)
			if err != nil {
				t.Fatal(err)
			}
			now, _, err := repository.Push(t.Context(), repo, packed, was, repository.PushOptions{})
			if err != nil || now.Digest != packed.Index.Descriptor.Digest || now.Tag != tag {
				t.Fatalf("%+v, %v", now, err)
			}
			return now
		}
		push()
		if len(ops) != 3 || ops[0] != "blob" || ops[1] != "manifest" || ops[2] != "tag" {
			t.Errorf("the order was %v", ops)
		}
		state := e.state(t)
		if push(); e.state(t) != state || len(ops) != 3 {
			t.Errorf("the second push wrote: %v", ops)
		}
	})
}

// TestPushRepairs checks that Push restores a missing manifest, a missing document,
// and, in a layout, a missing index.
func TestPushRepairs(t *testing.T) {
	t.Parallel()
	packed := pack(t, twoZips)
	eachEnd(t, func(t *testing.T, e *end) {
		lost := []digest.Digest{packed.Manifests[1].Descriptor.Digest, digest.FromString("sums")}
		if e.registry == nil {
			lost = append(lost, packed.Index.Descriptor.Digest)
		}
		e.push(t, twoZips)
		for _, d := range lost {
			e.lose(t, d)
		}
		e.push(t, twoZips)
		if i := e.inspect(t, repository.DepthBlobs); i.Dangling || !i.Platforms[haiku].IsIntact() || !i.Platforms[plan9].IsIntact() {
			t.Errorf("%+v", i)
		}
	})
}

// TestPushMovedTag checks that Push does not overwrite a tag that another run has
// moved.
func TestPushMovedTag(t *testing.T) {
	t.Parallel()
	eachEnd(t, func(t *testing.T, e *end) {
		for _, zip := range twoZips {
			pushBlob(t, e.open(t), blob(zip))
		}
		was := e.inspect(t, repository.DepthManifests)
		theirs := e.push(t, map[provider.Platform]string{haiku: twoZips[haiku]})
		_, _, err := repository.Push(t.Context(), e.open(t), pack(t, twoZips), was, repository.PushOptions{})
		if !errors.Is(err, repository.ErrTagMoved) || e.at(t, tag) != theirs.Digest {
			t.Errorf("%v, the tag is at %s", err, e.at(t, tag))
		}
	})
}

// TestPushReturnsMovedTag checks that Push returns the tag's current target if another
// run moves the tag immediately after the push.
func TestPushReturnsMovedTag(t *testing.T) {
	t.Parallel()
	e := newEnd(t, &registrytest.Options{})
	theirs := e.push(t, map[provider.Platform]string{haiku: twoZips[haiku]})
	_, moved, err := e.open(t).Manifest(t.Context(), tag)
	if err != nil {
		t.Fatal(err)
	}
	was := e.inspect(t, repository.DepthManifests)
	pushBlob(t, e.open(t), blob(twoZips[plan9]))
	var once sync.Once
	e.registry.Misbehave(registrytest.ManifestGet, func(w http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		once.Do(func() {
			b := raw(theirs.MediaType, string(moved))
			pushTag(t, e.open(t), b, tag, pack(t, twoZips).Index.Descriptor.Digest)
		})
		honest(w, r)
	}, -1)
	now, _, err := repository.Push(t.Context(), e.open(t), pack(t, twoZips), was, repository.PushOptions{})
	if err != nil || now.Digest != theirs.Digest || len(now.Index.Targets) != 1 {
		t.Errorf("%+v, %v", now, err)
	}
}

// TestPushLostTag checks the error if a registry accepts a tag but does not return it.
func TestPushLostTag(t *testing.T) {
	t.Parallel()
	e := newEnd(t, &registrytest.Options{})
	for _, zip := range twoZips {
		pushBlob(t, e.open(t), blob(zip))
	}
	was := e.inspect(t, repository.DepthIndex)
	e.registry.Misbehave(registrytest.ManifestGet, registrytest.Refuse(http.StatusNotFound, "MANIFEST_UNKNOWN", "manifest unknown"), -1)
	_, _, err := repository.Push(t.Context(), e.open(t), pack(t, twoZips), was, repository.PushOptions{})
	if provider.KindOf(err) != provider.Transient || err.Error() != "reading the tag back: repository accepted the tag but does not return it" {
		t.Errorf("got %v", err)
	}
}

// TestPushWithoutZips checks that nothing is tagged if the registry rejects a manifest
// because its zip is missing.
func TestPushWithoutZips(t *testing.T) {
	t.Parallel()
	e := newEnd(t, &registrytest.Options{})
	_, _, err := repository.Push(t.Context(), e.open(t), pack(t, twoZips), repository.Inspection{Tag: tag}, repository.PushOptions{})
	if answer, ok := errors.AsType[*repository.ResponseError](err); !ok || answer.Code != "MANIFEST_BLOB_UNKNOWN" || e.at(t, tag) != "" {
		t.Errorf("got %v", err)
	}
}

// TestPushUnreadableDocument checks that Push leaves no tag if a document has no
// content.
func TestPushUnreadableDocument(t *testing.T) {
	t.Parallel()
	eachEnd(t, func(t *testing.T, e *end) {
		packed := pack(t, twoZips)
		for _, zip := range twoZips {
			pushBlob(t, e.open(t), blob(zip))
		}
		packed.Documents[1].Bytes = nil
		_, _, err := repository.Push(t.Context(), e.open(t), packed, repository.Inspection{Tag: tag}, repository.PushOptions{})
		if provider.KindOf(err) != provider.Refused || e.at(t, tag) != "" {
			t.Errorf("got %v", err)
		}
	})
}
