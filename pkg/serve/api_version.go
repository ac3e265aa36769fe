package serve

import (
	"fmt"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/serve/api"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// apiVersion answers what a release holds.
func (s *Server) apiVersion(x *exchange) error {
	found, how, err := s.describeVersion(x)
	if err != nil {
		return err
	}
	return s.answerTagged(x, found, how)
}

// release is what is known of a version that a path names.
type release struct {
	at      shownPlace
	version provider.Version
	index   index
	summary summary
	how     state
}

// releaseAt finds the version that a path names, if the caller may have it. One whose
// tag names no release has a summary that says so, and no index.
func (s *Server) releaseAt(x *exchange) (r release, err error) {
	if r.at, err = s.shownAt(x); err != nil {
		return r, err
	}
	if r.version, err = x.version(); err != nil {
		return r, err
	}
	r.index, r.how, err = s.known.index(x.r.Context(), r.at.place, r.version)
	if isAbsent(err) {
		return r, err
	}
	if problem := brokenBy(err); problem != "" {
		r.summary = broken(r.version, problem)
		return r, nil
	}
	if err != nil {
		return r, err
	}
	x.answered.Repository = r.index.repo.String()
	r.summary, err = s.browse.summary(x.r.Context(), r.at.place, r.index)
	return r, err
}

// describeVersion gives all that is known of a release.
func (s *Server) describeVersion(x *exchange) (api.Version, state, error) {
	r, err := s.releaseAt(x)
	if err != nil {
		return api.Version{}, r.how, err
	}
	base, err := s.baseText(x)
	if err != nil {
		return api.Version{}, r.how, err
	}
	found := api.Version{
		Provider: r.at.ref(base), VersionRef: r.summary.VersionRef, Digest: r.summary.digest, Protocols: r.summary.protocols,
		Packages: s.packages(x, r, base), Findings: []api.Finding{}, Stale: r.how.stale != nil,
		Lock: r.lock(), Requirement: r.requirement(), Installation: s.installation(r.at, base),
	}
	found.URL = r.at.url(base, found.Version)
	found.Provider.Repository = x.answered.Repository
	for _, d := range r.summary.evidence {
		found.Evidence = append(found.Evidence, r.withURLs(d, base))
	}
	if r.summary.repo == nil {
		found.Unverified = "there is nothing to look at"
		return found, r.how, nil
	}
	s.addReport(x, &found, r, base)
	standing, err := s.browse.standing(x.r.Context(), r.at.place, r.index)
	found.Status, found.Problem = standing.Status, standing.Problem
	return found, r.how, err
}

// addReport adds what a look at the whole release found, or why there is none.
func (s *Server) addReport(x *exchange, found *api.Version, r release, base string) {
	seen, err := s.browse.report(x.r.Context(), r.at.place, r.index)
	if err != nil {
		_, found.Unverified = statusOf(err)
		return
	}
	found.Verdict, found.Findings, found.MoreFindings = seen.verdict, seen.findings, seen.more
	for _, d := range seen.referrers {
		found.Referrers = append(found.Referrers, r.withURLs(d, base))
	}
}

// packages gives the packages of a release with their URLs.
func (s *Server) packages(x *exchange, r release, base string) []api.Package {
	packages := []api.Package{}
	for _, p := range r.summary.packages {
		if p.Problem == "" {
			p.URL = base + "/archive" + s.tokenPath(x, r.at.place, r.index.stored, r.version, p.Filename)
		}
		var documents []api.Document
		for _, d := range p.Documents {
			documents = append(documents, r.withURLs(d, base))
		}
		p.Documents = documents
		packages = append(packages, p)
	}
	return packages
}

// withURLs says where a document is.
func (r release) withURLs(d api.Document, base string) api.Document {
	d.URL = r.at.url(base, r.version.String(), "documents", d.Digest)
	if d.Kind == string(provider.KindSBOM) {
		d.Components = r.at.url(base, r.version.String(), "components", d.Digest)
	}
	return d
}

// lock is the block of a lock file with all hashes that are known.
func (r release) lock() string {
	selection := lockfile.Selection{Address: r.at.shown, Version: r.version}
	for _, p := range r.summary.packages {
		for _, text := range []string{p.ZH, p.H1} {
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

// requirement is the block that asks for this version.
func (r release) requirement() string {
	source := strings.TrimPrefix(r.at.shown.String(), string(provider.DefaultHost)+"/")
	return fmt.Sprintf(`terraform {
  required_providers {
    %s = {
      source  = %q
      version = %q
    }
  }
}
`, r.at.shown.Type, source, r.version)
}
