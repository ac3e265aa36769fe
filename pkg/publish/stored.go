package publish

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// maxQuestions is how many small requests are under way at once.
const maxQuestions = 8

// stored is what lies under the version's tag, as far as it was looked at.
type stored struct {
	// digest is the index's, empty when there is no such tag.
	digest     digest.Digest
	descriptor ocispec.Descriptor
	index      artifact.Index
	// lost: the tag is there, and the index that it names is not, or is damaged.
	lost bool
	// format is the *artifact.FormatError of a tag that holds something else.
	format error
	// held has the platforms that were inspected.
	held map[provider.Platform]held
}

// held is what is there of one platform's package.
type held struct {
	// manifest is the zero value when it is missing or no provider's.
	manifest artifact.Manifest
	// format is the *artifact.FormatError of a manifest that is something else.
	format error
	// found tells whether the manifest was there and undamaged.
	found bool
	// missing are the blobs that the manifest names and that are not there.
	missing []digest.Digest
}

func (h held) whole() bool { return h.found && len(h.missing) == 0 }

// describe gives the package as the repository has it.
func (h held) describe(a provider.Address, v provider.Version, old *stored, platform provider.Platform) provider.Package {
	t, _ := old.index.Target(platform)
	return provider.Package{
		Address: a, Version: v, Platform: platform,
		Filename: h.manifest.Filename, Digest: h.manifest.Zip.Digest, Size: h.manifest.Zip.Size, H1: t.H1(),
	}
}

// foreign says why the tag is not of this provider at all; empty when it is.
func (s *stored) foreign(a provider.Address) string {
	if s.format != nil {
		return fmt.Sprintf("the tag holds something else: %v", s.format)
	}
	if other := s.index.Annotations[artifact.AnnotationProvider]; other != "" && other != a.ASCII() {
		return "the tag holds the provider " + other
	}
	return ""
}

// readStored reads the index under the tag, if there is one.
func (p *publisher) readStored(ctx context.Context, tag string) (*stored, error) {
	old := &stored{held: map[provider.Platform]held{}}
	d, data, err := p.repo.Manifest(ctx, tag)
	_, damaged := errors.AsType[*sums.MismatchError](err)
	switch {
	case d.Digest != "" && (damaged || errors.Is(err, artifact.ErrNotFound)):
		old.digest, old.lost = d.Digest, true
		return old, nil
	case errors.Is(err, artifact.ErrNotFound), errors.Is(err, artifact.ErrNoRepository):
		return old, nil
	case err != nil:
		return nil, err
	}
	old.digest, old.descriptor = d.Digest, d
	old.index, err = artifact.ParseIndex(data)
	if _, ok := errors.AsType[*artifact.FormatError](err); ok {
		old.format = err
		return old, nil
	}
	return old, err
}

// inspect reads the manifests of those platforms that the index has, and asks
// whether every blob that they name is there: that a tag exists proves nothing
// about what it leads to. What was inspected once is not asked for again.
func (p *publisher) inspect(ctx context.Context, old *stored, platforms []provider.Platform) error {
	var unseen []artifact.Target
	for _, platform := range provider.SortPlatforms(platforms) {
		t, there := old.index.Target(platform)
		if _, seen := old.held[platform]; there && !seen {
			unseen = append(unseen, t)
		}
	}
	found := make([]held, len(unseen))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxQuestions)
	blobs := &presence{repo: p.repo, known: map[digest.Digest]func() (bool, error){}}
	for i, t := range unseen {
		group.Go(func() (err error) {
			found[i], err = p.hold(ctx, t, blobs)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, t := range unseen {
		old.held[t.Platform] = found[i]
	}
	return nil
}

func (p *publisher) hold(ctx context.Context, t artifact.Target, blobs *presence) (h held, err error) {
	_, data, err := p.repo.Manifest(ctx, t.Descriptor.Digest.String())
	_, damaged := errors.AsType[*sums.MismatchError](err)
	if errors.Is(err, artifact.ErrNotFound) || damaged {
		return h, nil
	}
	if err != nil {
		return h, err
	}
	if h.manifest, h.format = artifact.ParseManifest(data); h.format != nil {
		return h, nil //nolint:nilerr // what is no provider's is a finding
	}
	h.found = true
	if h.manifest.Filename == "" {
		h.manifest.Filename = provider.Filename(p.address, p.version, t.Platform)
	}
	for _, d := range h.manifest.Blobs {
		there, err := blobs.has(ctx, d)
		if err != nil {
			return h, err
		}
		if !there {
			h.missing = append(h.missing, d.Digest)
		}
	}
	return h, nil
}

// presence asks for each blob once, though manifests share most of them.
type presence struct {
	repo  Reader
	mu    sync.Mutex
	known map[digest.Digest]func() (bool, error)
}

// has tells whether a blob is there in its full size.
func (b *presence) has(ctx context.Context, d ocispec.Descriptor) (bool, error) {
	b.mu.Lock()
	ask, asked := b.known[d.Digest]
	if !asked {
		ask = sync.OnceValues(func() (bool, error) {
			size, err := b.repo.Stat(ctx, d.Digest)
			if errors.Is(err, artifact.ErrNotFound) {
				return false, nil
			}
			return err == nil && size == d.Size, err
		})
		b.known[d.Digest] = ask
	}
	b.mu.Unlock()
	return ask()
}
