package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/finding"
	"github.com/tofu-oci/tofu-oci/internal/serve/api"
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
// release, the summary describes the problem and the index is empty.
func (s *Server) release(x *exchange) (r release, err error) {
	r.index, r.state, err = s.index(x)
	if isAbsent(err) {
		return r, err
	}
	if problem := brokenProblem(err); problem != "" {
		r.summary = brokenSummary(x.version, problem)
		return r, nil
	}
	if err != nil {
		return r, err
	}
	r.summary, err = s.repos.summary(x.r.Context(), x.query, r.index)
	return r, err
}

// describeVersion describes a release.
func (s *Server) describeVersion(x *exchange) (none api.Version, err error) {
	r, err := s.release(x)
	if isAbsent(err) && s.seesPending(x) {
		return s.describeUnreleased(x, err)
	}
	if err != nil {
		return none, err
	}
	x.setCacheHeaders(r.state)
	found := api.Version{
		Provider: x.query.ref(x.base), VersionRef: r.summary.VersionRef, Digest: r.summary.digest, Protocols: r.summary.protocols,
		Evidence: x.withURLs(r.summary.evidence), Packages: s.packages(x, r), Stale: r.state.stale != nil,
		Lock: lockOf(x.query.shown, x.version, r.summary.packages), Requirement: requirementOf(x), Installation: x.query.installation(x.base),
	}
	found.URL = x.query.url(x.base, found.Version)
	found.Provider.Repository = x.event.Repository
	if r.summary.repo == nil {
		found.Assessment = unverified("the tag does not point to a release")
		return found, nil
	}
	found.Assessment = x.assessment(s.repos.report(x.r.Context(), x.query, r.index))
	checkedSummary, err := s.repos.checkedSummary(x.r.Context(), x.query, r.index)
	found.Status, found.Problem = checkedSummary.Status, checkedSummary.Problem
	return found, err
}

// describeUnreleased describes a pending or denied version with its decisions. For any
// other version, it returns the error absent.
func (s *Server) describeUnreleased(x *exchange, absent error) (none api.Version, err error) {
	known, state, err := s.repos.find(x.r.Context(), x.query)
	if err := x.query.authorizationError(known.stored, err); err != nil {
		return none, err
	}
	found := summary{VersionRef: deniedRef(x, x.version), packages: []api.Package{}, stored: known.stored}
	switch {
	case slices.Contains(known.denied, x.version):
	case slices.Contains(known.pending, x.version):
		found = s.repos.pendingRef(x.r.Context(), x.query, known, x.version)
	default:
		return none, absent
	}
	if !x.query.caller.MayRead(found.stored) {
		return none, absent
	}
	x.setCacheHeaders(state)
	v := api.Version{
		Provider: x.query.ref(x.base), VersionRef: found.VersionRef, Digest: found.digest, Protocols: found.protocols,
		Evidence: found.evidence, Packages: found.packages, Stale: state.stale != nil,
	}
	id := key{view: x.query.view, address: x.query.address, version: x.version}
	v.Assessment = s.repos.unreleased(x.r.Context(), id, known.repo, cmp.Or(found.stored, x.query.address), found.Status)
	v.URL = x.query.url(x.base, v.Version)
	x.event.Repository = known.repo.String()
	v.Provider.Repository = x.event.Repository
	return v, nil
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
			p.URL = x.base.String() + "/archive" + s.tokenPath(x, r.index.stored, p.Filename)
		}
		p.Documents = x.withURLs(p.Documents)
	}
	return packages
}

// withURLs returns documents with their URLs.
func (x *exchange) withURLs(documents []api.Document) []api.Document {
	documents = slices.Clone(documents)
	for n := range documents {
		d := &documents[n]
		d.URL = x.versionURL("documents", d.Digest)
		if d.Kind == string(provider.KindSBOM) {
			d.Components = x.versionURL("components", d.Digest)
		}
	}
	return documents
}

// versionURL returns the URL of the requested version in the API, with additional path
// elements.
func (x *exchange) versionURL(more ...string) string {
	more = append([]string{x.version.String()}, more...)
	if x.module.address != (moduleAddress{}) {
		return x.shownModule().url(x, more...)
	}
	return x.query.url(x.base, more...)
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

// releaseDocument returns the requested document, its repository, and the version that
// the document describes.
func (s *Server) releaseDocument(x *exchange) (d api.Document, repo repository.Reader, described api.VersionRef, err error) {
	var all []api.Document
	var state cacheState
	var seen func() (report, error)
	if x.module.address != (moduleAddress{}) {
		var found moduleRelease
		found, state, err = s.module(x)
		all, repo, described.Version = found.documents(), found.repo, x.version.String()
		seen = func() (report, error) { return s.repos.moduleReport(x.r.Context(), found, x.version) }
	} else {
		var r release
		r, err = s.release(x)
		all, repo, described, state = r.summary.documentsOfAll(), r.summary.repo, r.summary.VersionRef, r.state
		seen = func() (report, error) { return s.repos.report(x.r.Context(), x.query, r.index) }
	}
	if err != nil {
		return d, nil, described, err
	}
	x.setCacheHeaders(state)
	is := func(d api.Document) bool { return d.Digest == x.r.PathValue("DIGEST") }
	if repo != nil && !slices.ContainsFunc(all, is) {
		r, err := seen()
		if err != nil {
			return d, nil, described, err
		}
		all = r.Referrers
	}
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i], repo, described, nil
	}
	return d, nil, described, &problem{http.StatusNotFound, "the release has no document with this digest"}
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
	d, repo, _, err := s.releaseDocument(x)
	if err != nil {
		return err
	}
	s.setPrivate(x)
	if x.notModified(`"` + d.Digest + `"`) {
		return nil
	}
	body := io.NopCloser(strings.NewReader(""))
	if x.r.Method != http.MethodHead {
		if body, err = openBlob(x.r.Context(), repo, descriptorOf(d), d.Name); err != nil {
			return err
		}
	}
	defer body.Close()
	h := x.Header()
	h.Set("Content-Type", "application/octet-stream")
	if slices.Contains(documentTypes, d.MediaType) {
		h.Set("Content-Type", d.MediaType)
	}
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": d.Name}))
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox") // the document is untrusted content
	h.Set("Content-Length", strconv.FormatInt(d.Size, 10))
	if x.r.Method == http.MethodHead {
		return nil
	}
	if _, err = io.Copy(x, body); err != nil && x.sent {
		x.event.Err = err
		s.options.Events.onFailure(err)
		panic(http.ErrAbortHandler) // a truncated response must not look complete
	}
	return err
}

// components contains the components in an SBOM. It also contains the SBOM's document
// and the version that the SBOM describes.
type components struct {
	api.SBOM
	version  api.Version
	document api.Document
}

// describeComponents returns the components in the requested SBOM. Each SBOM is read only
// once.
func (s *Server) describeComponents(x *exchange) (none components, err error) {
	d, repo, described, err := s.releaseDocument(x)
	switch {
	case err != nil:
		return none, err
	case d.Kind != string(provider.KindSBOM):
		return none, &problem{http.StatusNotFound, "the document is not a software bill of materials"}
	case d.Size > api.MaxSBOM:
		return none, &problem{http.StatusUnprocessableEntity, "the document is too large to be displayed; download it instead"}
	}
	bom, _, err := s.repos.sboms.get(x.r.Context(), digest.Digest(d.Digest), func(ctx context.Context) (api.SBOM, error) {
		body, err := repository.Verified(ctx, repo, descriptorOf(d), d.Name)
		if err != nil {
			return api.SBOM{}, err
		}
		defer body.Close()
		data, err := io.ReadAll(io.LimitReader(body, api.MaxSBOM+1))
		if err != nil {
			return api.SBOM{}, err
		}
		return api.ParseSBOM(data)
	})
	if errors.Is(err, api.ErrNoSBOM) {
		err = because(err, http.StatusUnprocessableEntity, err.Error())
	}
	version := api.Version{Provider: x.query.ref(x.base), VersionRef: described}
	return components{bom, version, x.withURLs([]api.Document{d})[0]}, err
}
