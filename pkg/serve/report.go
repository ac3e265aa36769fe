package serve

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/internal/serve/api"
	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/finding"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
	"github.com/tofu-oci/tofu-oci/pkg/verify"
)

// maxFindings limits the number of findings that are returned for a release.
const maxFindings = 50

// longText limits the length of a message in bytes. Some messages quote untrusted text.
const longText = 1000

// report is the result of checking a release without reading its archives.
type report struct {
	verdict   *api.Verdict
	findings  []finding.Finding
	more      int
	referrers []api.Document
	decisions []api.Decision
	weight    int64
}

// report checks a release as `tofu-oci verify` does. It checks the index, manifests,
// evidence, and referrers, and whether all blobs exist.
func (rc *repositoryCache) report(ctx context.Context, q providerQuery, i index) (report, error) {
	r, _, err := rc.reports.getWithin(ctx, i.key(q, provider.Platform{}), max(reportAge, rc.options.MaxAge), func(ctx context.Context) (report, error) {
		var r report
		exact := provider.Requirement{Address: q.address, Constraint: i.version.Constraint()}
		found, err := verify.Repository(ctx, i.repo, []provider.Requirement{exact}, verify.Options{
			Aliases: q.aliases, Template: i.template,
			Verify: func(ctx context.Context, release provider.Release) (provider.Verdict, error) {
				verdict, err := rc.options.Verify(ctx, release)
				r.verdict = verdictOf(verdict, err)
				return verdict, cmp.Or(err, r.addAttestations(ctx, release))
			},
		})
		if err != nil {
			return report{}, err
		}
		for _, failed := range found.Failed {
			return report{}, failed.Err
		}
		for _, c := range found.Checked {
			for _, d := range c.Referrers {
				r.referrers = append(r.referrers, describe(d))
			}
			r.decisions = decisionsOf(c.Decisions)
		}
		r.findings, r.more = findingsOf(found, i.version)
		r.weight = 1024 + 512*int64(len(r.findings)+len(r.referrers)) + 2*longText*int64(len(r.decisions))
		return r, nil
	})
	return r, err
}

// history reads the decisions about a pending or denied version. stored is its provider.
func (rc *repositoryCache) history(ctx context.Context, q providerQuery, repo repository.Reader, stored provider.Address, v provider.Version) (report, error) {
	r, _, err := rc.reports.get(ctx, key{view: q.view, address: q.address, version: v}, func(ctx context.Context) (report, error) {
		records, err := approval.History(ctx, repo, stored, v)
		decisions := decisionsOf(records)
		return report{decisions: decisions, weight: 1024 + 2*longText*int64(len(decisions))}, err
	})
	return r, err
}

// decisionsOf converts recorded decisions.
func decisionsOf(records []repository.DecisionRecord) (decisions []api.Decision) {
	for _, r := range records {
		d := api.Decision{
			Kind: r.Kind, Verdict: short(r.Verdict), Gate: short(r.Gate), Reason: clip(r.Reason, longText), By: short(r.By),
			Time: r.Time.UTC().Truncate(time.Second), Key: r.Key, Foreign: r.Foreign,
		}
		if !r.Expires.IsZero() {
			end := r.Expires.UTC().Truncate(time.Second)
			d.Expires = &end
		}
		decisions = append(decisions, d)
	}
	return decisions
}

// addAttestations adds the attestations of packages.
func (r *report) addAttestations(ctx context.Context, release provider.Release) error {
	found, err := oci.Attestations(ctx, release)
	for _, p := range release.Packages {
		for _, d := range found[p.Digest] {
			document := describe(d)
			document.Platform = p.Platform.String()
			r.referrers = append(r.referrers, document)
		}
	}
	return err
}

// verdictOf converts a verdict. It returns nil if a different error prevented the
// verification of the signature.
func verdictOf(v provider.Verdict, err error) *api.Verdict {
	refused, isRefused := errors.AsType[*trust.RefusedError](err)
	if err != nil && !isRefused {
		return nil
	}
	result := &api.Verdict{State: string(v.Trust), Text: v.String()}
	if v.Reason != "" {
		result.Text += " (" + v.Reason + ")"
	}
	if v.Fingerprint != "" {
		result.Keys = []string{v.Fingerprint}
	}
	if v.Warning != "" {
		result.Warnings = []string{v.Warning}
	}
	if isRefused {
		result.Refused = refused.Problem
	}
	return result
}

// findingsOf returns the findings about a release, and the number of further findings.
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

// maxConcurrentStats limits the blobs of a release that are checked concurrently.
const maxConcurrentStats = 8

// checkedSummary returns a summary whose status takes missing blobs into account.
// Version lists and version pages both use it, so they show the same status.
func (rc *repositoryCache) checkedSummary(ctx context.Context, q providerQuery, i index) (summary, error) {
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
	for _, f := range known.findings {
		if f.Severity == finding.Error {
			s.Status, s.Problem = api.StatusIncomplete, f.Message
			break
		}
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
		size, err := s.repo.Stat(ctx, digest.Digest(d))
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

// incomplete describes the problem of a release with missing blobs. If no blobs are
// missing, it returns "".
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
