package serve

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/description"
	"github.com/tofu-oci/tofu-oci/internal/finding"
	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/internal/serve/api"
	"github.com/tofu-oci/tofu-oci/internal/verify"
	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
	"github.com/tofu-oci/tofu-oci/pkg/template"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// maxFindings limits the number of findings that are returned for a release.
const maxFindings = 50

// longText limits the length of a message in bytes. Some messages quote untrusted text.
const longText = 1000

// report is the result of checking a release without reading its archives.
type report struct {
	api.Assessment
	weight int64
}

// report checks a release as `tofu-oci verify` does. It checks the index, manifests,
// documents, and referrers, and whether all blobs exist.
func (rc *repositoryCache) report(ctx context.Context, q query, i index) (report, error) {
	r, _, err := rc.reports.getWithin(ctx, i.key(q, provider.Platform{}), max(reportAge, rc.options.MaxAge), func(ctx context.Context) (report, error) {
		var r report
		exact := provider.Requirement{Address: i.subject, Constraint: i.version.Constraint()}
		o := verify.Options{Aliases: q.aliases}
		o.Template, _ = i.template.(template.Template)
		o.Verify = func(ctx context.Context, release provider.Release) (provider.Verdict, error) {
			verdict, err := rc.options.Verify(ctx, release)
			r.Signature = signatureOf(verdict, err)
			return verdict, cmp.Or(err, r.addAttestations(ctx, release))
		}
		found, err := verify.Repository(ctx, i.repo, []provider.Requirement{exact}, o)
		if err != nil {
			return report{}, err
		}
		for _, failed := range found.Failed {
			return report{}, failed.Err
		}
		for _, c := range found.Checked {
			for _, d := range c.Referrers {
				r.Referrers = append(r.Referrers, describe(d))
			}
			r.Decisions = decisionsOf(c.Decisions)
		}
		r.Findings, r.MoreFindings = findingsOf(found, i.version)
		r.weight = 1024 + 512*int64(len(r.Findings)+len(r.Referrers)) + 2*longText*int64(len(r.Decisions))
		return r, nil
	})
	return r, err
}

// unreleased returns the decisions about a pending or denied version. It also verifies
// the signature of a pending version.
func (rc *repositoryCache) unreleased(ctx context.Context, q query, known listing, v provider.Version, s summary) api.Assessment {
	a, repo := known.subject, known.repo
	if !a.IsModule() && s.stored.Host != "" {
		a = s.stored
	}
	r, _, err := rc.reports.get(ctx, key{set: q.providerSet, address: q.address, version: v}, func(ctx context.Context) (report, error) {
		records, err := approval.History(ctx, repo, a, v)
		decisions := decisionsOf(records)
		r := report{Assessment: api.Assessment{Decisions: decisions}, weight: 1024 + 2*longText*int64(len(decisions))}
		if err == nil && s.Status == api.StatusPending {
			r.Signature = rc.pendingSignature(ctx, repo, a, v)
		}
		return r, err
	})
	r.Findings, r.Unverified = []finding.Finding{}, "the version is "+s.Status
	if err != nil {
		_, text := statusOf(err)
		r.Unverified += "; its decisions are unknown: " + text
	}
	return r.Assessment
}

// pendingSignature verifies the signature of a pending version. It returns nil if the
// version can't be read. In this case, the status of the version describes the problem.
func (rc *repositoryCache) pendingSignature(ctx context.Context, repo repository.Reader, stored provider.Address, v provider.Version) *api.Signature {
	source := oci.NewPending(func(provider.Address) (repository.Reader, error) { return repo, nil })
	release, err := source.Release(ctx, stored, v)
	if err != nil {
		return nil
	}
	return signatureOf(rc.options.Verify(ctx, release))
}

// problem returns the first error in the findings, or "" if they contain no error.
func (r *report) problem() string {
	for _, f := range r.Findings {
		if f.Severity == finding.Error {
			return f.Message
		}
	}
	return ""
}

// decisionsOf converts recorded decisions for the API.
func decisionsOf(records []repository.DecisionRecord) (decisions []description.Decision) {
	for _, r := range records {
		d := description.NewDecision(r)
		d.Verdict, d.Gate, d.Reason, d.By = short(d.Verdict), short(d.Gate), clip(d.Reason, longText), short(d.By)
		decisions = append(decisions, d)
	}
	return decisions
}

// addAttestations adds the packages' attestations to the report.
func (r *report) addAttestations(ctx context.Context, release provider.Release) error {
	found, err := oci.Attestations(ctx, release)
	for _, p := range release.Packages {
		for _, d := range found[p.Digest] {
			document := describe(d)
			document.Platform = p.Platform.String()
			r.Referrers = append(r.Referrers, document)
		}
	}
	return err
}

// signatureOf converts a verdict for the API. It returns nil if an error other than a
// rejection prevented the verification.
func signatureOf(v provider.Verdict, err error) *api.Signature {
	refused, isRefused := errors.AsType[*trust.RefusedError](err)
	described := description.NewSignature(v)
	if err != nil && !isRefused || described == nil {
		return nil
	}
	s := &api.Signature{Signature: *described, Text: v.String(), Signer: short(v.Signer)}
	if v.Reason != "" {
		s.Text += " (" + v.Reason + ")"
	}
	if isRefused {
		s.Refused = refused.Problem
	}
	return s
}

// findingsOf returns the findings about a release, and the number of omitted findings.
func findingsOf(found verify.Report, v provider.Version) (findings []finding.Finding, more int) {
	findings, more = []finding.Finding{}, found.More
	for _, f := range found.Findings {
		switch {
		case f.Subject.Version != v.String(): // this finding concerns the repository
		case len(findings) == maxFindings:
			more++
		default:
			f.Message, f.Hint, f.Command = clip(f.Message, longText), clip(f.Hint, longText), clip(f.Command, longText)
			findings = append(findings, f)
		}
	}
	return findings, more
}

// maxConcurrentStats limits the number of blobs of a release that are checked
// concurrently.
const maxConcurrentStats = 8

// releasedSummary describes a released version in a list.
func (rc *repositoryCache) releasedSummary(ctx context.Context, q query, known listing, v provider.Version) summary {
	i, _, err := rc.indexIn(ctx, q, known, v, max(reportAge, rc.options.MaxAge))
	if problem := q.brokenProblem(err); problem != "" {
		return brokenSummary(v, problem)
	}
	var found summary
	if err == nil {
		found, err = rc.checkedSummary(ctx, q, i)
	}
	if err != nil {
		_, text := statusOf(err)
		found = brokenSummary(v, text)
		found.Status = api.StatusUnknown
	}
	return found
}

// checkedSummary returns a summary whose status takes missing blobs into account.
// Version lists and version pages both use it, so they show the same status.
func (rc *repositoryCache) checkedSummary(ctx context.Context, q query, i index) (summary, error) {
	s, err := rc.summary(ctx, q, i)
	if err != nil || s.Status != api.StatusComplete {
		return s, err
	}
	// 1. Check for missing blobs.
	id := i.key(q, provider.Platform{})
	missing, _, err := rc.missing.getWithin(ctx, id, max(reportAge, rc.options.MaxAge), s.missing)
	if err != nil {
		_, s.Problem = statusOf(err)
		s.Status = api.StatusUnknown
		return s, nil
	}
	if s.Problem = s.incomplete(missing); s.Problem != "" {
		s.Status = api.StatusIncomplete
		return s, nil
	}
	// 2. Use a cached report, which can contain additional errors.
	known, _ := rc.reports.lookup(id)
	if s.Problem = known.problem(); s.Problem != "" {
		s.Status = api.StatusIncomplete
	}
	return s, nil
}

// missing returns the digests of the zips and documents that are missing from the
// repository or have a different size there. It requests the size of each blob once and
// doesn't read the blob.
func (s *summary) missing(ctx context.Context) ([]string, error) {
	sizes := map[string]int64{}
	for _, d := range s.documentsOfAll() {
		sizes[d.Digest] = d.Size
	}
	for _, p := range s.packages {
		sizes[p.Digest] = p.Size
	}
	all := slices.Collect(maps.Keys(sizes))
	isLost := make([]bool, len(all))
	err := schedule.All(ctx, maxConcurrentStats, all, func(ctx context.Context, n int, d string) error {
		size, err := s.repo.Stat(ctx, ocispec.Descriptor{Digest: digest.Digest(d), Size: sizes[d]})
		absent := errors.Is(err, repository.ErrNotFound) || errors.Is(err, repository.ErrNoRepository)
		if isLost[n] = absent || size != sizes[d]; absent {
			return nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var missing []string
	for n, d := range all {
		if isLost[n] {
			missing = append(missing, d)
		}
	}
	return missing, nil
}

// incomplete describes the problem if blobs of a release are missing. Otherwise, it
// returns "".
func (s *summary) incomplete(missing []string) string {
	var platforms, names []string
	for _, p := range s.packages {
		if slices.Contains(missing, p.Digest) {
			platforms = append(platforms, p.Platform)
		}
	}
	for _, d := range s.documentsOfAll() {
		if slices.Contains(missing, d.Digest) {
			names = append(names, d.Name)
		}
	}
	switch {
	case len(platforms) > 0:
		return notInstallable(platforms)
	case len(names) > 0:
		return clip("missing documents: "+strings.Join(names, ", "), longText)
	}
	return ""
}
