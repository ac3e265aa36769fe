package registrytest

import (
	"bytes"
	"context"
	"io"
	"strings"
	"sync"

	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// blobs stores blobs separately for each repository, like a registry. It holds no lock
// during an upload.
type blobs struct {
	// keeps prevents the replacement of existing blobs.
	keeps bool

	mu      sync.Mutex
	content map[string][]byte
}

// key removes the suffix that go-containerregistry adds to a repository name when it
// stores an upload.
func key(repo, digest string) string {
	return strings.TrimSuffix(repo, "/blobs") + "@" + digest
}

func (b *blobs) Get(_ context.Context, repo string, h v1.Hash) (io.ReadCloser, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	content, found := b.content[key(repo, h.String())]
	if !found {
		return nil, registry.ErrNotFound
	}
	return io.NopCloser(bytes.NewReader(content)), nil
}

func (b *blobs) Stat(_ context.Context, repo string, h v1.Hash) (int64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	content, found := b.content[key(repo, h.String())]
	if !found {
		return 0, registry.ErrNotFound
	}
	return int64(len(content)), nil
}

func (b *blobs) Put(_ context.Context, repo string, h v1.Hash, r io.ReadCloser) error {
	content, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, there := b.content[key(repo, h.String())]; !there || !b.keeps {
		b.content[key(repo, h.String())] = content
	}
	return nil
}

// mount adds a blob to a repository if the source repository contains the blob.
func (b *blobs) mount(from, into, digest string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	content, found := b.content[key(from, digest)]
	if found {
		b.content[key(into, digest)] = content
	}
	return found
}

func (b *blobs) delete(repo, digest string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, found := b.content[key(repo, digest)]
	delete(b.content, key(repo, digest))
	return found
}
