package repository

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/memo"
	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
)

const (
	// maxIndexDepth is the maximum nesting depth of indexes.
	maxIndexDepth = 3
	// maxReleaseManifests limits the number of manifests in a release, including its
	// referrers.
	maxReleaseManifests = 4096
	// maxReferrerLevels limits the length of a chain of referrers. For example, the
	// signature of a release's SBOM is at level two.
	maxReferrerLevels = 8
	// maxReferrers limits the number of referrers of one manifest.
	maxReferrers = 1000
)

// node is a manifest or index with the descriptors of the content that it refers to.
type node struct {
	artifact.Blob
	manifests, blobs []ocispec.Descriptor
}

func newNode(m artifact.Blob) (n node, err error) {
	n.Blob = m
	n.manifests, n.blobs, err = artifact.Children(m.Bytes)
	return n, err
}

// walker goes from indexes to manifests and blobs and, with visitReferrers, to
// referrers. It visits each manifest and blob once. It visits a manifest after
// everything that the manifest refers to. The first error ends the walk.
type walker struct {
	// read reads a manifest. The walker visits only content that the node refers to, so
	// read can limit the walk. For a referrer that isn't visited, read returns
	// errSkipped.
	read func(ctx context.Context, d ocispec.Descriptor, isReferrer bool) (node, error)
	// manifest, if not nil, visits a manifest. blob visits a blob.
	manifest func(ctx context.Context, m artifact.Blob) error
	blob     func(ctx context.Context, d ocispec.Descriptor) error
	// concurrency is the maximum number of manifests in one index that are visited
	// concurrently. If it is 1, the order of the descriptors determines the order of the walk.
	concurrency int
	// maxManifests limits the number of manifests, unless it is zero.
	maxManifests int64

	manifests, blobs memo.Memo[digest.Digest, struct{}]
	count            atomic.Int64
	mu               sync.Mutex
	// subjects lists the manifests whose referrers have not been visited yet.
	subjects []digest.Digest
}

// errSkipped is returned for a referrer that is missing or is not visited.
var errSkipped = errors.New("referrer is skipped")

// visitAll visits manifests and everything that they refer to.
func (w *walker) visitAll(ctx context.Context, manifests []ocispec.Descriptor, depth int) error {
	return schedule.All(ctx, w.concurrency, manifests, func(ctx context.Context, _ int, d ocispec.Descriptor) error {
		err := w.visit(ctx, d, depth, false)
		if errors.Is(err, errSkipped) {
			err = ErrNotFound // the same manifest is a referrer, too
		}
		return err
	})
}

// visit visits a manifest and everything that it refers to. Below the manifest, indexes
// can be nested up to the given depth.
func (w *walker) visit(ctx context.Context, d ocispec.Descriptor, depth int, isReferrer bool) error {
	_, err := w.manifests.Get(ctx, d.Digest, func(ctx context.Context) (none struct{}, err error) {
		if n := w.count.Add(1); w.maxManifests > 0 && n > w.maxManifests {
			return none, &artifact.FormatError{Problem: fmt.Sprintf("artifact has more than %d manifests", w.maxManifests)}
		}
		n, err := w.read(ctx, d, isReferrer)
		if isReferrer && errors.Is(err, ErrNotFound) {
			err = errSkipped
		}
		if err == nil {
			err = w.visitContent(ctx, n, depth)
		}
		if err == nil && w.manifest != nil {
			err = w.manifest(ctx, n.Blob)
		}
		return none, err
	})
	return err
}

// visitBelow visits everything that a manifest refers to, but not the manifest itself.
func (w *walker) visitBelow(ctx context.Context, m artifact.Blob) error {
	n, err := newNode(m)
	if err != nil {
		return err
	}
	return w.visitContent(ctx, n, maxIndexDepth)
}

func (w *walker) visitContent(ctx context.Context, n node, depth int) error {
	if depth == 0 && len(n.manifests) > 0 {
		return &artifact.FormatError{Problem: "indexes are nested too deeply"}
	}
	if err := w.visitAll(ctx, n.manifests, depth-1); err != nil {
		return err
	}
	for _, d := range n.blobs {
		_, err := w.blobs.Get(ctx, d.Digest, func(ctx context.Context) (none struct{}, err error) { return none, w.blob(ctx, d) })
		if err != nil {
			return err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.subjects = append(w.subjects, n.Descriptor.Digest)
	return nil
}

// visitReferrers lists the referrers of the visited manifests, and then the referrers
// of these referrers. For each manifest that has referrers, it calls do, which visits
// the referrers with visitEntries. concurrency limits the number of concurrent calls.
func (w *walker) visitReferrers(ctx context.Context, repo Reader, concurrency int, do func(ctx context.Context, subject digest.Digest, found referrers) error) error {
	for level := 0; len(w.subjects) > 0; level++ {
		if level > maxReferrerLevels {
			return &artifact.FormatError{Problem: fmt.Sprintf("referrers are nested more than %d levels deep", maxReferrerLevels)}
		}
		subjects := w.subjects
		w.subjects = nil
		err := schedule.All(ctx, concurrency, subjects, func(ctx context.Context, _ int, subject digest.Digest) error {
			found, _, err := listReferrers(ctx, repo, subject)
			if n := len(found.entries); err == nil && n > maxReferrers {
				err = fmt.Errorf("listing the referrers of %s: %d referrers exceed the limit of %d", subject, n, maxReferrers)
			}
			if err != nil || len(found.entries) == 0 {
				return err
			}
			return do(ctx, subject, found)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// visitEntries visits the manifests in a referrers list, and returns their entries. It
// omits missing manifests, because cleanup jobs that don't support referrers might have
// deleted them.
func (w *walker) visitEntries(ctx context.Context, list []ocispec.Descriptor) ([]ocispec.Descriptor, error) {
	var visited []ocispec.Descriptor
	for _, d := range list {
		if d.Digest.Validate() != nil {
			continue
		}
		switch err := w.visit(ctx, d, maxIndexDepth, true); {
		case err == nil:
			visited = append(visited, d)
		case !errors.Is(err, errSkipped):
			return nil, fmt.Errorf("reading the referrer %s: %w", d.Digest, err)
		}
	}
	return visited, nil
}
