package serve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/description"
	"github.com/tofu-oci/tofu-oci/internal/serve/api"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// summary contains the information about a release from its index and manifests,
// without URLs.
type summary struct {
	api.VersionRef
	digest           string
	protocols        []string
	packages         []api.Package
	releaseDocuments []api.Document
	// module contains the origin of a module and its subdirectory.
	module api.ModuleVersion
	// repo is nil if the tag doesn't point to a readable release.
	repo repository.Reader
	// stored is the address under which the release is stored.
	stored provider.Address
	weight int64
}

// brokenSummary returns the summary of a tag that doesn't point to a readable release.
func brokenSummary(v provider.Version, problem string) summary {
	ref := api.VersionRef{Version: v.String(), Tag: artifact.Tag(v), Platforms: []string{}, Status: api.StatusBroken, Problem: problem}
	return summary{VersionRef: ref, packages: []api.Package{}}
}

// brokenProblem returns the reason a tag doesn't point to a readable release. It
// returns "" if the release is not at fault.
func (q query) brokenProblem(err error) string {
	dangling, isLost := errors.AsType[*repository.DanglingTagError](err)
	format, isFormat := errors.AsType[*artifact.FormatError](err)
	switch {
	case isForeign(err):
		_, text := statusOf(err)
		return text
	case isLost:
		return fmt.Sprintf("the index %s, which the tag points to, is missing or damaged", dangling.Index.Digest)
	case isFormat:
		return "the tag does not point to a " + q.noun("provider release") + ": " + clip(format.Error(), longText)
	}
	return ""
}

// summary returns the summary of a release. It reads manifests only once, unless the
// release has a problem that might have been fixed.
func (rc *repositoryCache) summary(ctx context.Context, q query, i index) (summary, error) {
	fetch := func(ctx context.Context) (summary, error) {
		deeper, err := i.InspectMore(ctx, i.repo, repository.DepthManifests)
		if err != nil {
			return summary{}, err
		}
		return summarize(i, deeper), nil
	}
	s, state, err := rc.summaries.get(ctx, i.key(q, provider.Platform{}), fetch)
	if err == nil && s.Status != api.StatusComplete && state.age >= rc.options.MaxAge {
		s, _, err = rc.summaries.getWithin(ctx, i.key(q, provider.Platform{}), rc.options.MaxAge, fetch)
	}
	return s, err
}

// summarize returns the summary of an inspected release.
func summarize(i index, found repository.Inspection) summary {
	signed := false
	s := summary{
		VersionRef: api.VersionRef{
			Version: i.version.String(), Tag: found.Tag, Published: dateOf(found.Index), Platforms: []string{},
			Status: api.StatusComplete, Signed: &signed,
		},
		digest: found.Digest.String(), protocols: protocols(found.Index), packages: []api.Package{}, repo: i.repo, stored: i.stored,
	}
	var wrong []string
	for _, platform := range found.Index.Platforms() {
		p := s.add(i, found.Platforms[platform])
		if s.Platforms = append(s.Platforms, p.Platform); p.Problem != "" {
			wrong = append(wrong, p.Platform)
		}
	}
	if found.Module {
		text := func(key string) string { return clip(found.Index.Annotations[key], longText) }
		s.Platforms = []string{}
		s.module = api.ModuleVersion{
			Source: text(ocispec.AnnotationSource), Revision: text(ocispec.AnnotationRevision),
			Origin: text(artifact.AnnotationModuleOrigin), Subdirectory: text(artifact.AnnotationModuleSubdirectory),
		}
	}
	switch {
	case len(s.packages) == 0:
		s.Status, s.Problem = api.StatusBroken, "the index has no packages"
	case len(wrong) > 0:
		s.Status, s.Problem = api.StatusIncomplete, notInstallable(wrong)
	}
	signed = slices.ContainsFunc(s.releaseDocuments, func(d api.Document) bool { return d.Kind == string(provider.KindSignature) })
	s.weight = 512 + 384*int64(len(s.packages)+len(s.releaseDocuments))
	for _, p := range s.packages {
		s.weight += 384 * int64(len(p.Documents))
	}
	return s
}

// notInstallable describes the problem of a release that can't be installed on
// platforms. The platform of a module is empty.
func notInstallable(platforms []string) string {
	return strings.TrimSuffix("cannot be installed on "+strings.Join(platforms, ", "), " on ")
}

// add adds the package for a platform, and the documents in its manifest.
func (s *summary) add(i index, f repository.InspectedPackage) api.Package {
	pkg := f.Package(i.subject, i.version)
	p := api.Package{Package: description.NewPackage(pkg)}
	if pkg.Platform == (provider.Platform{}) {
		p.Platform = ""
	}
	stated, has := f.Target.Digest()
	switch {
	case f.Target.Duplicate:
		p.Problem = "the index has multiple manifests for the platform, which OpenTofu rejects"
	case f.Err != nil && errors.Is(f.Err, repository.ErrNotFound):
		p.Problem = "its manifest is missing"
	case f.Err != nil:
		p.Problem = clip("its manifest is unusable: "+f.Err.Error(), longText)
	case pkg.CheckIdentity() != nil:
		p.Problem = pkg.CheckIdentity().Error()
	case has && stated != pkg.Digest:
		p.Problem = "index and manifest have different archive digests"
	}
	if f.Err == nil {
		p.ZH = sums.ZH(pkg.Digest)
		s.Size += pkg.Size
		s.documents(&p, i, f.Manifest.Documents)
	}
	s.packages = append(s.packages, p)
	return p
}

// documents adds the documents in a manifest. All manifests list the documents about
// the release, but these documents are added only once.
func (s *summary) documents(p *api.Package, i index, layers []ocispec.Descriptor) {
	sumsName := ""
	if !i.subject.IsModule() {
		sumsName = provider.SumsName(i.subject, i.version)
	}
	for _, layer := range layers {
		d := artifact.DocumentOf(layer, sumsName)
		document := describe(d)
		if d.Scope == provider.ScopePackage {
			document.Platform = p.Platform
			p.Documents = append(p.Documents, document)
			continue
		}
		same := func(o api.Document) bool { return o.Name == document.Name && o.Digest == document.Digest }
		if !slices.ContainsFunc(s.releaseDocuments, same) {
			s.releaseDocuments = append(s.releaseDocuments, document)
		}
	}
}

// describe converts a document for the API. The document's media type is untrusted.
func describe(d provider.Document) api.Document {
	described := description.NewDocument(d)
	described.MediaType = short(d.MediaType)
	return api.Document{Document: described}
}

// dateOf returns the date on which the origin published a release, or nil if the index
// contains no valid date.
func dateOf(x artifact.Index) *time.Time {
	t := x.Published()
	if t.IsZero() {
		return nil
	}
	return &t
}

const (
	// maxProtocols limits the number of protocols per release. shortText limits the
	// length of short untrusted strings, in bytes.
	maxProtocols = 16
	shortText    = 100
)

func protocols(x artifact.Index) []string {
	var all []string
	for _, p := range x.Protocols() {
		if len(all) < maxProtocols {
			all = append(all, short(p))
		}
	}
	return all
}

// short truncates a string to shortText bytes.
func short(s string) string { return clip(s, shortText) }

// clip truncates a string to limit bytes and removes invalid UTF-8.
func clip(s string, limit int) string {
	if len(s) > limit {
		return strings.ToValidUTF8(s[:limit], "") + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// documentsOfAll returns the documents about the release and about its packages.
func (s *summary) documentsOfAll() []api.Document {
	all := slices.Clone(s.releaseDocuments)
	for _, p := range s.packages {
		all = append(all, p.Documents...)
	}
	return all
}

// maxPending limits the number of pending and of denied versions that are shown for a
// provider or module.
const maxPending = 20

// seesPending reports whether the caller can see pending and denied versions. If access is
// restricted, a token is required.
func (s *Server) seesPending(x *exchange) bool {
	return s.options.Rules().AllowAll() || x.caller.Name != ""
}

// deniedSummary describes a denied version.
func deniedSummary(known listing, v provider.Version) summary {
	ref := api.VersionRef{Version: v.String(), Tag: artifact.DeniedTag(v), Platforms: []string{}, Status: api.StatusDenied}
	return summary{VersionRef: ref, packages: []api.Package{}, stored: known.stored}
}

// pendingSummary describes a pending release. If the release can't be read, pendingSummary
// uses the address under which the repository's other releases are stored.
func (rc *repositoryCache) pendingSummary(ctx context.Context, q query, known listing, v provider.Version) summary {
	s, _, err := rc.pending.get(ctx, key{set: q.providerSet, address: q.address, version: v}, func(ctx context.Context) (summary, error) {
		found, err := repository.Inspect(ctx, known.repo, artifact.PendingTag(v), repository.DepthManifests)
		switch {
		case err != nil:
			return summary{}, err
		case !found.Exists():
			return summary{}, fmt.Errorf("%w: %s %s is not pending", provider.ErrVersionNotFound, q.address, v)
		case found.Dangling:
			return brokenSummary(v, "its index is missing or damaged"), nil
		}
		if err := found.CheckFormat(known.subject); err != nil {
			return brokenSummary(v, clip(err.Error(), longText)), nil
		}
		i := index{Inspection: found, listing: known, version: v}
		if i.stored, err = q.ownerOf(found, known.unannotated); err != nil {
			return summary{}, err
		}
		return summarize(i, found), nil
	})
	if err != nil {
		_, text := statusOf(q.withoutForeignAddress(err))
		s = brokenSummary(v, text)
	}
	switch {
	case isForeign(err):
		s.stored = foreignTo(err)
	case s.repo == nil:
		s.stored = known.stored
	}
	s.Tag, s.Status = artifact.PendingTag(v), api.StatusPending
	return s
}
