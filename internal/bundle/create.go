package bundle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/mirror"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
)

// CreateOptions configures [Create]. File is required.
type CreateOptions struct {
	// Options selects versions and contains callbacks, as for [mirror.Copy]. Its Target
	// is ignored. If Publish.Verify is set, each version is verified before the bundle
	// is written. The callbacks for results are called at the end. A version is
	// [publish.Created] only if the bundle was written. It is [publish.Unchanged] if
	// the receiver has it or if all parts existed. If the bundle is not written, only
	// failures are reported.
	mirror.Options
	Publish publish.Options
	// From returns the repository that contains the versions of a provider or module.
	// For a module, the argument is a [provider.ModuleAddress] with the module's
	// registry address instead of its repository.
	From func(provider.Address) (repository.Reader, error)
	// DenialsOf lists additional providers and modules whose denials the bundle contains.
	// The bundle always contains the denials of the required providers and modules.
	DenialsOf []provider.Address
	// File is the name of the bundle. If the bundle has several parts, their numbers
	// are added, as in "bundle.2.tar".
	File string
	// PartSize is the maximum size of a part in bytes. If zero, the bundle has only one
	// part.
	PartSize int64
	// Since, if not nil, is the receiver's inventory. Content that the receiver has is
	// omitted.
	Since *Inventory
	// Sign, if not nil, returns the signature of the bundle's manifest.
	Sign func(document []byte) ([]byte, error)
	// Identity describes the sender.
	Identity
}

// Part is a part of a created bundle.
type Part struct {
	File string
	// Size is the size of the file in bytes.
	Size int64
	// Existed reports whether an earlier run created the file.
	Existed bool
}

// Create writes a bundle of the versions that the requirements select. If an item
// fails, Create writes no bundle and returns [ErrIncomplete]. A denied version that a
// requirement specifies exactly also fails, but doesn't prevent the bundle, which
// contains the denial. After an interruption,
// the next run doesn't rewrite completed parts. Identical content results in identical
// files, except for signatures. The required memory doesn't depend on the size of the
// bundle.
func Create(ctx context.Context, wanted []provider.Requirement, o CreateOptions) (written []Part, err error) {
	// 1. Read the manifests of all versions.
	spool, err := atomicfile.NewScratchFile("", 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = spool.Close() }()
	c := collector{options: o, spool: spool, manifests: map[digest.Digest]int64{}}
	defer func() { c.report(written, err == nil) }()
	if err := c.collect(ctx, wanted); err != nil {
		return nil, err
	}
	// 2. Assign the content to parts. Repeat this with a larger overhead until the
	// manifest fits, because the size of the manifest depends on the parts.
	var files []file
	var parts [][]item
	for overhead := int64(0); ; {
		if parts, err = plan(c.releases, o.PartSize, overhead); err != nil {
			return nil, err
		}
		if len(parts) > maxParts {
			return nil, provider.Errorf(provider.Misuse, "the bundle would have %d parts, but at most %d are supported; use larger parts", len(parts), maxParts)
		}
		if files, err = commonFiles(describe(c.releases, parts, o.Identity), o.Sign); err != nil {
			return nil, err
		}
		needed := int64(2 * block) // the end of the archive
		for _, f := range files {
			needed += tarSize(int64(len(f.data)))
		}
		if needed <= overhead {
			break
		}
		overhead = needed + block // signatures can have different sizes
	}
	// 3. Write the parts.
	for i, content := range parts {
		w := partWriter{name: partName(o.File, i+1, len(parts)), files: files, content: content, open: c.open}
		p, err := w.write(ctx)
		if err != nil {
			return written, fmt.Errorf("writing %s: %w", w.name, err)
		}
		written = append(written, p)
	}
	return written, nil
}

// partName returns the file name of a part.
func partName(name string, part, parts int) string {
	if parts == 1 {
		return name
	}
	return fmt.Sprintf("%s.%0*d.tar", strings.TrimSuffix(name, ".tar"), len(fmt.Sprint(parts)), part)
}

// collector reads the manifests of the selected versions.
type collector struct {
	options CreateOptions

	mu       sync.Mutex
	releases []release
	// spool contains manifests. manifests maps their digests to their positions.
	spool     *atomicfile.ScratchFile
	end       int64
	manifests map[digest.Digest]int64
	// sources maps each blob to a repository that contains it.
	sources map[digest.Digest]repository.Reader
	// results contains the results of all items, in the order of the plan.
	results []mirror.Result
}

// report reports the results. If the bundle is incomplete, it reports only failures.
func (c *collector) report(written []Part, isComplete bool) {
	status := publish.Created
	if !slices.ContainsFunc(written, func(p Part) bool { return !p.Existed }) {
		status = publish.Unchanged
	}
	for _, r := range c.results {
		if !isComplete && r.Err == nil {
			continue
		}
		if r.Published.Status == publish.Created {
			r.Published.Status = status
		}
		if o := c.options; o.OnStart != nil && r.Item.Err == nil && r.Item.Held == nil {
			o.OnStart(r.Item)
		}
		for _, report := range []func(mirror.Result){c.options.OnFinish, c.options.OnResult} {
			if report != nil {
				report(r)
			}
		}
	}
}

// target represents the bundle, which does not exist yet, as a target of
// [mirror.RunWith].
type target struct {
	repository.Repository
	name string
}

func (t target) String() string { return t.name }

func (t target) Capabilities() repository.Capabilities {
	return repository.Capabilities{AtomicTags: true}
}

func (t target) Tags(context.Context) ([]string, error) { return nil, repository.ErrNoRepository }

// collect selects the versions and reads their manifests.
func (c *collector) collect(ctx context.Context, wanted []provider.Requirement) error {
	c.sources = map[digest.Digest]repository.Reader{}
	o := c.options.Options
	o.Target = func(a provider.Address) (repository.Repository, publish.Options, error) {
		return target{name: c.options.File + ":" + a.String()}, c.options.Publish, nil
	}
	o.OnStart, o.OnFinish = nil, nil
	o.OnResult = func(r mirror.Result) { c.results = append(c.results, r) }
	err := mirror.RunWith(ctx, oci.New(c.options.From), wanted, o, c.add)
	switch {
	case err != nil:
		return err
	case slices.ContainsFunc(c.results, func(r mirror.Result) bool { return r.Err != nil && !isDenied(r.Err) }):
		return ErrIncomplete
	}
	if err := c.addDenials(ctx, wanted); err != nil {
		return err
	}
	slices.SortFunc(c.releases, func(a, b release) int {
		return cmp.Or(cmp.Compare(a.address.String(), b.address.String()), cmp.Compare(a.name, b.name))
	})
	return nil
}

func isDenied(err error) bool {
	_, denied := errors.AsType[*repository.DeniedError](err)
	return denied
}

// ErrIncomplete is returned by [Create] after it has reported an item that failed.
var ErrIncomplete = errors.New("the bundle was not written, because it would be incomplete")

// add reads the manifests of one version.
func (c *collector) add(ctx context.Context, _ repository.Repository, a provider.Address, v provider.Version, o publish.Options) (publish.Result, error) {
	r := publish.Result{Plan: publish.Plan{Address: a, Version: v, Tag: artifact.Tag(v)}}
	from, err := c.options.From(a)
	if err != nil {
		return r, err
	}
	if a.IsModule() {
		from, _, r.Tag = repository.ForModuleCopy(ctx, from, nil, v)
	}
	if err := repository.CheckDenied(ctx, from, v); err != nil {
		if denied, ok := errors.AsType[*repository.DeniedError](err); ok && o.SkipDenied {
			r.Status, r.Denial = publish.Denied, &denied.Record
			return r, nil
		}
		return r, err
	}
	found, err := repository.Inspect(ctx, from, artifact.Tag(v), repository.DepthManifests)
	if err != nil {
		return r, err
	}
	graph, err := found.ReadGraph(ctx, from)
	if err != nil {
		return r, err
	}
	if r.Digest = graph.Root.Digest; o.Verify != nil {
		if r.Verdict, err = oci.VerifyCopy(a, o.Verify)(ctx, from, found); err != nil {
			return r, err
		}
	}
	isLatest, err := isLatest(ctx, from, a, r.Digest)
	if err != nil {
		return r, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	one, err := c.release(a, r.Tag, graph)
	if err != nil {
		return r, err
	}
	isKnown := c.options.Since.hasVersion(a, v, r.Digest)
	if isLatest {
		one.tags[artifact.LatestTag] = graph.Root
		isKnown = isKnown && c.options.Since.hasTag(a, artifact.LatestTag, r.Digest)
	}
	for _, d := range graph.Blobs {
		c.sources[d.Digest] = from
	}
	r.Status = publish.Created
	if isKnown && !slices.ContainsFunc(slices.Concat(one.blobs, one.manifests), func(i item) bool { return !i.isOmitted }) {
		r.Status = publish.Unchanged
		one = release{address: a}
	}
	c.releases = append(c.releases, one)
	return r, nil
}

// addDenials adds the denials that the receiver doesn't have yet, so that the receiver
// also denies versions from earlier bundles.
func (c *collector) addDenials(ctx context.Context, wanted []provider.Requirement) error {
	all := slices.Clone(c.options.DenialsOf)
	for _, r := range wanted {
		all = append(all, r.Address)
	}
	seen := map[provider.Address]bool{}
	for _, a := range all {
		if seen[a] {
			continue
		}
		seen[a] = true
		from, err := c.options.From(a)
		if err != nil {
			return err
		}
		tags, err := from.Tags(ctx)
		isUnlisted := errors.Is(err, provider.ErrForbidden) || errors.Is(err, repository.ErrNoRepository) || errors.Is(err, repository.ErrNotFound)
		if err != nil && !isUnlisted {
			return err
		}
		denied := artifact.Tags(tags).Denied()
		for _, r := range c.results { // not all registries can list tags
			if isUnlisted && r.Item.Requirement.Address == a && isDenied(r.Err) {
				denied = append(denied, r.Item.Version)
			}
		}
		for _, v := range denied {
			if err := c.addDenial(ctx, from, a, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// addDenial adds a denial, unless its record is lost.
func (c *collector) addDenial(ctx context.Context, from repository.Reader, a provider.Address, v provider.Version) error {
	tag := artifact.DeniedTag(v)
	found, err := repository.Inspect(ctx, from, tag, repository.DepthIndex)
	if _, known := c.options.Since.repository(a).Tags[tag]; err != nil || known || !found.IsDenial() {
		return err
	}
	graph, err := found.ReadGraph(ctx, from)
	if err != nil {
		return err
	}
	one, err := c.release(a, tag, graph)
	if err != nil {
		return err
	}
	for _, d := range graph.Blobs {
		c.sources[d.Digest] = from
	}
	c.releases = append(c.releases, one)
	return nil
}

// isLatest reports whether a module's latest tag points to the given digest.
func isLatest(ctx context.Context, repo repository.Reader, a provider.Address, d digest.Digest) (bool, error) {
	if !a.IsModule() {
		return false, nil
	}
	found, err := repository.Inspect(ctx, repo, artifact.LatestTag, repository.DepthIndex)
	return err == nil && found.Digest == d, err
}

// release spools the manifests of a version and lists its content.
func (c *collector) release(a provider.Address, tag string, g repository.Graph) (release, error) {
	r := release{address: a, name: tag, tags: map[string]ocispec.Descriptor{tag: g.Root}}
	maps.Copy(r.tags, g.Referrers)
	for _, d := range g.Blobs {
		r.blobs = append(r.blobs, item{d.Digest, d.Size, c.options.Since.has(a, d.Digest)})
	}
	for _, m := range g.Manifests {
		d := m.Descriptor
		r.manifests = append(r.manifests, item{d.Digest, d.Size, c.options.Since.has(a, d.Digest)})
		if _, spooled := c.manifests[d.Digest]; spooled {
			continue
		}
		if _, err := c.spool.WriteAt(m.Bytes, c.end); err != nil {
			return r, fmt.Errorf("buffering manifests: %w", err)
		}
		c.manifests[d.Digest] = c.end
		c.end += d.Size
	}
	return r, nil
}

// open opens an item. For a blob, the returned reader verifies the content.
func (c *collector) open(ctx context.Context, i item) (io.ReadCloser, error) {
	if start, isManifest := c.manifests[i.digest]; isManifest {
		return io.NopCloser(io.NewSectionReader(c.spool, start, i.size)), nil
	}
	return repository.Verified(ctx, c.sources[i.digest], ocispec.Descriptor{Digest: i.digest, Size: i.size}, "blob "+i.digest.String())
}
