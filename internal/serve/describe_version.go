package serve

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/finding"
	"github.com/tofu-oci/tofu-oci/internal/serve/api"
	"github.com/tofu-oci/tofu-oci/internal/serve/page"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// release is the requested version with its summary.
type release struct {
	index   index
	summary summary
	state   cacheState
}

// release returns the requested version. If its tag doesn't point to a readable
// release, the summary describes the problem.
func (s *Server) release(x *exchange) (r release, err error) {
	r.index, r.state, err = s.index(x)
	if isAbsent(err) {
		return r, err
	}
	if problem := x.query.brokenProblem(err); problem != "" {
		r.summary = brokenSummary(x.version, problem)
		return r, nil
	}
	if err != nil {
		return r, err
	}
	r.summary, err = s.repos.summary(x.r.Context(), x.query, r.index)
	return r, err
}

// assessed is a version with the results of checking it and the decisions about it.
type assessed struct {
	release
	api.Assessment
}

// isReleased reports whether the version is neither pending nor denied.
func (d assessed) isReleased() bool {
	return d.summary.Status != api.StatusPending && d.summary.Status != api.StatusDenied
}

// describeRelease describes the requested version. Pending and denied versions are
// described only for callers who can see them.
func (s *Server) describeRelease(x *exchange) (d assessed, err error) {
	// 1. Find the version.
	d.release, err = s.release(x)
	known := d.index.listing
	switch isUnreleased := isAbsent(err) && s.seesPending(x); {
	case isUnreleased && slices.Contains(known.denied, x.version):
		d.summary = deniedSummary(known, x.version)
	case isUnreleased && slices.Contains(known.pending, x.version):
		if d.summary = s.repos.pendingSummary(x.r.Context(), x.query, known, x.version); !x.query.caller.MayRead(d.summary.stored) {
			return d, err
		}
	case err != nil:
		return d, err
	}
	x.setCacheHeaders(d.state)
	x.event.Repository = known.repo.String()
	// 2. Check the version, or find the decisions about it.
	switch {
	case !d.isReleased():
		d.Assessment = s.repos.unreleased(x.r.Context(), x.query, known, x.version, d.summary)
		return d, nil
	case d.summary.repo == nil:
		d.Assessment = unverified("the tag does not point to a " + x.query.noun("release"))
		return d, nil
	}
	d.Assessment = x.assessment(s.repos.report(x.r.Context(), x.query, d.index))
	checked, err := s.repos.checkedSummary(x.r.Context(), x.query, d.index)
	d.summary.Status, d.summary.Problem = checked.Status, checked.Problem
	return d, err
}

// version describes a version of a provider for the API.
func (s *Server) version(x *exchange, d assessed) api.Version {
	found := d.summary
	v := api.Version{
		Provider: x.query.ref(x.base, d.index.repo.String(), ""), VersionRef: found.VersionRef, Digest: found.digest, Protocols: found.protocols,
		Documents: found.releaseDocuments, Packages: found.packages, Assessment: d.Assessment, Stale: d.state.stale != nil,
	}
	v.URL = x.query.url(x.base, found.Version)
	if d.isReleased() {
		v.Documents, v.Packages = x.withURLs(found.releaseDocuments), s.packages(x, d.release)
		v.Lock, v.Requirement, v.Installation = lockOf(x.query.shown, x.version, found.packages), requirementOf(x), x.query.installation(x.base)
	}
	return v
}

// moduleRelease describes a version of a module for the API.
func (s *Server) moduleRelease(x *exchange, d assessed) api.ModuleRelease {
	r := api.ModuleRelease{
		Module: x.query.moduleRef(x.base, d.index.repo.String(), newest(d.index.versions)), ModuleVersion: s.moduleVersion(x, d.summary),
		Assessment: d.Assessment, Installation: x.query.installation(x.base), Stale: d.state.stale != nil,
	}
	if d.isReleased() && d.summary.repo != nil {
		r.Documents, r.Requirement = x.withURLs(r.Documents), requirementOf(x)
	}
	return r
}

func (s *Server) renderVersion(f page.Frame, x *exchange, d assessed, number int) ([]byte, error) {
	return f.Version(page.Version{Version: s.version(x, d), Promote: d.promote()}, number)
}

func (s *Server) renderModuleVersion(f page.Frame, x *exchange, d assessed, _ int) ([]byte, error) {
	return f.ModuleVersion(page.ModuleVersion{ModuleRelease: s.moduleRelease(x, d), Published: d.summary.Published, Promote: d.promote()})
}

// promote returns the command that approves the version if it is pending.
func (d assessed) promote() string {
	if d.summary.Status != api.StatusPending {
		return ""
	}
	return promoteCommand(d.index.listing, d.summary.Version)
}

// assessment returns the assessment in a report, with the URLs of its documents. If err
// is not nil, it returns an assessment that contains the error.
func (x *exchange) assessment(r report, err error) api.Assessment {
	if err != nil {
		_, text := statusOf(err)
		return unverified(text)
	}
	r.Referrers = x.withURLs(r.Referrers)
	return r.Assessment
}

// unverified returns the assessment of a release that was not checked.
func unverified(reason string) api.Assessment {
	return api.Assessment{Findings: []finding.Finding{}, Unverified: reason}
}

// packages returns the packages of a release with their URLs.
func (s *Server) packages(x *exchange, r release) []api.Package {
	packages := slices.Clone(r.summary.packages)
	for n := range packages {
		p := &packages[n]
		if p.Problem == "" {
			p.URL = x.base.String() + s.archivePath(x, x.version, p.Filename, r.index.stored)
		}
		p.Documents = x.withURLs(p.Documents)
	}
	return packages
}

// withURLs returns documents with their URLs.
func (x *exchange) withURLs(documents []api.Document) []api.Document {
	documents = slices.Clone(documents)
	for n := range documents {
		documents[n].URL = x.query.url(x.base, x.version.String(), "documents", documents[n].Digest)
	}
	return documents
}

// lockOf returns the provider block of a lock file with all known hashes.
func lockOf(a provider.Address, v provider.Version, packages []api.Package) string {
	selection := lockfile.Selection{Address: a, Version: v}
	for _, p := range packages {
		for _, text := range []string{p.ZH, p.H1, p.H1Unpacked} {
			if h, err := lockfile.ParseHash(text); err == nil && p.Problem == "" {
				selection.Hashes = append(selection.Hashes, h)
			}
		}
	}
	if len(selection.Hashes) == 0 {
		return ""
	}
	return selection.String()
}

// requirementOf returns the configuration block that requires the version.
func requirementOf(x *exchange) string {
	source := strings.TrimPrefix(x.query.shown.String(), string(provider.DefaultHost)+"/")
	if name, _, isModule := strings.Cut(x.query.shown.Type, "/"); isModule {
		return fmt.Sprintf("module %q {\n  source  = %q\n  version = %q\n}\n", name, source, x.version)
	}
	return fmt.Sprintf(`terraform {
  required_providers {
    %s = {
      source  = %q
      version = %q
    }
  }
}
`, x.query.shown.Type, source, x.version)
}

// releaseDocument returns the requested document and its repository.
func (s *Server) releaseDocument(x *exchange) (d api.Document, repo repository.Reader, err error) {
	found, err := s.release(x)
	all, repo := found.summary.documentsOfAll(), found.summary.repo
	if err != nil {
		return d, nil, err
	}
	x.setCacheHeaders(found.state)
	is := func(d api.Document) bool { return d.Digest == x.r.PathValue("DIGEST") }
	if repo != nil && !slices.ContainsFunc(all, is) {
		r, err := s.repos.report(x.r.Context(), x.query, found.index)
		if err != nil {
			return d, nil, err
		}
		all = r.Referrers
	}
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i], repo, nil
	}
	return d, nil, &problem{http.StatusNotFound, "the release has no document with this digest"}
}

func descriptorOf(d api.Document) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: d.MediaType, Digest: digest.Digest(d.Digest), Size: d.Size}
}

// documentTypes lists the media types that apiDocument sends as Content-Type. Documents
// of other types are sent as application/octet-stream, because their media types are
// untrusted text.
var documentTypes = []string{
	artifact.MediaTypeSums, artifact.MediaTypeSignature, artifact.MediaTypeKeys, artifact.MediaTypeSPDX,
	artifact.MediaTypeCycloneDX, artifact.MediaTypeInToto, artifact.MediaTypeSigstore,
}

// apiDocument responds with a verified document of a release.
func (s *Server) apiDocument(x *exchange) error {
	d, repo, err := s.releaseDocument(x)
	if err != nil {
		return err
	}
	s.setPrivate(x)
	h := x.Header()
	h.Set("Etag", `"`+d.Digest+`"`)
	h.Set("Content-Type", "application/octet-stream")
	if slices.Contains(documentTypes, d.MediaType) {
		h.Set("Content-Type", d.MediaType)
	}
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": d.Name}))
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox") // the document is untrusted content
	x.r.Header.Del("Range")                                         // documents are small
	return s.sendContent(x, &content{
		ctx: x.r.Context(), size: d.Size, digest: digest.Digest(d.Digest), name: d.Name,
		open: func(ctx context.Context) (io.ReadCloser, error) { return openBlob(ctx, repo, descriptorOf(d), d.Name) },
	})
}
