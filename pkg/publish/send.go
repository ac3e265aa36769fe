package publish

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// sendZips brings the zips of u.send into the repository, several at once, and
// fills in the sizes and h1 hashes that were not known.
func (p *publisher) sendZips(ctx context.Context, u union) error {
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, p.concurrency()))
	for i, pkg := range u.release.Packages {
		if len(pick([]provider.Package{pkg}, u.send)) == 0 {
			continue
		}
		group.Go(func() error {
			done, sent, err := p.sendZip(ctx, pkg)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			u.release.Packages[i] = done
			p.sent[done.Digest] = p.sent[done.Digest] || sent
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, pkg := range pick(u.release.Packages, u.send) {
		p.h1[pkg.Digest] = pkg.H1
	}
	return nil
}

func (p *publisher) concurrency() int {
	if p.options.Concurrency > 0 {
		return p.options.Concurrency
	}
	return DefaultConcurrency
}

// sendArtifact packs the release and pushes what the zips are framed by: small
// blobs, manifests, and the index under its tag last.
func (p *publisher) sendArtifact(ctx context.Context, u union, old *stored, tag string) (index ocispec.Descriptor, err error) {
	packed, err := artifact.Pack(u.release, p.artifactOptions(old))
	if err != nil {
		return index, err
	}
	if err := p.each(ctx, packed.Blobs, p.sendBlob); err != nil {
		return index, err
	}
	there := old.manifests()
	err = p.each(ctx, packed.Manifests, func(ctx context.Context, m artifact.Blob) error {
		if there[m.Descriptor.Digest] {
			return nil
		}
		return p.repo.PushManifest(ctx, m)
	})
	if err != nil {
		return index, err
	}
	index = packed.Index.Descriptor
	if index.Digest == old.digest && !old.lost {
		return index, nil
	}
	return index, p.repo.PushTag(ctx, packed.Index, tag, old.digest)
}

// artifactOptions keeps what is annotated already, unless it is to be different.
func (p *publisher) artifactOptions(old *stored) artifact.Options {
	o := artifact.Options{SourceURL: p.options.SourceURL, Annotations: map[string]string{}}
	if old.foreign(p.address) == "" {
		maps.Copy(o.Annotations, old.index.Annotations)
		o.SourceURL = cmp.Or(o.SourceURL, old.index.Annotations[ocispec.AnnotationSource])
	}
	maps.Copy(o.Annotations, p.options.Annotations)
	return o
}

// each sends small things, several at once.
func (p *publisher) each(ctx context.Context, blobs []artifact.Blob, send func(context.Context, artifact.Blob) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxQuestions)
	for _, b := range blobs {
		group.Go(func() error { return send(ctx, b) })
	}
	return group.Wait()
}

// sendBlob pushes a small blob unless it is there.
func (p *publisher) sendBlob(ctx context.Context, b artifact.Blob) error {
	size, err := p.repo.Stat(ctx, b.Descriptor.Digest)
	if err == nil && size == b.Descriptor.Size {
		return nil
	}
	if err != nil && !errors.Is(err, artifact.ErrNotFound) && !errors.Is(err, artifact.ErrNoRepository) {
		return err
	}
	return p.retrier().Do(ctx, fmt.Sprintf("pushing blob %s", b.Descriptor.Digest), func() error {
		err := p.pushBlob(ctx, b.Descriptor, bytes.NewReader(b.Bytes))
		if errors.Is(err, provider.ErrDenied) {
			return &transfer.ExpiredError{Err: err}
		}
		return err
	})
}

// manifests are those that were found under the tag.
func (s *stored) manifests() map[digest.Digest]bool {
	found := map[digest.Digest]bool{}
	for _, t := range s.index.Targets {
		if s.held[t.Platform].found {
			found[t.Descriptor.Digest] = true
		}
	}
	return found
}
