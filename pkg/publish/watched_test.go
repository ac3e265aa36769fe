package publish_test

import (
	"context"
	"io"
	"net/http"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// watched is a repository that is implemented outside of the package. Tests can
// observe, fail, and interrupt each write. It does not expose local files, even if it
// wraps a layout.
type watched struct {
	repository.Repository
	// before is called before each write with "blob", "manifest", or "tag".
	before func(op string, d digest.Digest) error
	// after is called after each tag is written.
	after func()

	mu     sync.Mutex
	writes []string
}

func (w *watched) write(op string, d digest.Digest, do func() error) error {
	if w.before != nil {
		if err := w.before(op, d); err != nil {
			return err
		}
	}
	if err := do(); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writes = append(w.writes, op)
	return nil
}

func (w *watched) PushBlob(ctx context.Context, d ocispec.Descriptor, content io.Reader) error {
	return w.write("blob", d.Digest, func() error { return w.Repository.PushBlob(ctx, d, content) })
}

func (w *watched) PushManifest(ctx context.Context, m artifact.Blob) error {
	return w.write("manifest", m.Descriptor.Digest, func() error { return w.Repository.PushManifest(ctx, m) })
}

func (w *watched) PushTag(ctx context.Context, m artifact.Blob, tag string, was digest.Digest) error {
	err := w.write("tag", m.Descriptor.Digest, func() error { return w.Repository.PushTag(ctx, m, tag, was) })
	if err == nil && w.after != nil {
		w.after()
	}
	return err
}

// barrier returns a fault that blocks requests until n of them are waiting.
func barrier(n int) origintest.Fault {
	var waiting sync.WaitGroup
	waiting.Add(n)
	return func(w http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		waiting.Done()
		waiting.Wait()
		honest(w, r)
	}
}

// statted is a repository whose Stat method calls before.
type statted struct {
	repository.Repository
	before func(d digest.Digest)
}

func (s *statted) Stat(ctx context.Context, d ocispec.Descriptor) (int64, error) {
	s.before(d.Digest)
	return s.Repository.Stat(ctx, d)
}
