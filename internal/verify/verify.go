// Package verify checks the releases in an OCI repository without changing anything. It
// finds missing, damaged, or inconsistent content, content that OpenTofu can't read,
// releases whose signatures the policy doesn't accept, and differences from the origin
// registry.
//
//	verify = OCI repository → Inspect → findings
//
// Use it to check a mirror in your own program or in a pipeline.
package verify

import (
	"context"
	"slices"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/finding"
	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

const (
	// maxFindings is the maximum number of findings in a [Report].
	maxFindings = 1000
	// maxOfRelease is the maximum number of findings about a release. A defect of the
	// entire release can cause one finding per platform.
	maxOfRelease = 100
	// maxZips is the maximum number of zips that are read concurrently.
	maxZips = 4
)

// Options configures [Repository]. The zero value checks all releases that match the
// requirements, but does not verify signatures.
type Options struct {
	// Latest is the maximum number of versions that are checked per requirement, starting
	// with the newest. If zero, all matching versions are checked.
	Latest int
	// Deep reads every blob. It detects silent corruption and wrong h1 annotations.
	Deep bool
	// Verify verifies the signature of a release. You can use a method of trust.Policy.
	// If Verify returns an error, the report contains an error about the release. If
	// the verdict contains a warning, the report contains a warning. If nil, signatures
	// are not verified.
	Verify func(context.Context, provider.Release) (provider.Verdict, error)
	// Launch starts the package for the current platform. If the package doesn't work,
	// problem is the reason, without a final period. Launch is called only for releases
	// without errors. If Launch returns an error, the release could not be checked. If
	// nil, nothing is started.
	Launch func(ctx context.Context, p provider.Package) (problem string, err error)
	// Missing, if not nil, describes each call in a module to a module that the mirror
	// lacks, in a sentence without a final period.
	Missing func(ctx context.Context, module repository.Inspection, v provider.Version) ([]string, error)
	// Origin is the source from which the releases were mirrored. If nil, releases are
	// not compared with their origin.
	Origin provider.Source
	// Aliases lists other providers whose releases the repository can contain.
	Aliases provider.Aliases
	// Template is the template of the repository. It is used for the commands in remedies.
	Template template.Template
}

// Failure is a release or requirement that could not be checked.
type Failure struct {
	// Wanted is the first requirement that selects the release.
	Wanted provider.Requirement
	// Version is zero if the failure applies to the requirement. Either no version
	// matches the requirement ([provider.ErrVersionNotFound]), or the versions of the
	// origin registry are unknown.
	Version provider.Version
	Err     error
}

func (f Failure) isRelease() bool { return f.Version != provider.Version{} }

// Checked is a release whose check has been completed.
type Checked struct {
	Address provider.Address
	Version provider.Version
	// Stored is the location of the release. It has no digest if the tag is dangling.
	Stored provider.Stored
	// Verdict is the result of Verify. It is the zero value if Verify was not called.
	Verdict provider.Verdict
	// SBOM reports whether SBOMs describe all packages.
	SBOM bool
	// Referrers contains the documents that refer to the index. Decisions contains the
	// decisions about the index, oldest first. See approval.Examine.
	Referrers []provider.Document
	Decisions []repository.DecisionRecord
	// Counts is the number of findings by severity.
	Counts map[finding.Severity]int
	// Time is the time of the check, in UTC.
	Time time.Time
}

// Report is the result of [Repository].
type Report struct {
	// Address and Repository identify the provider and its repository. Only [Many] sets them.
	Address    provider.Address
	Repository string
	// Releases is the number of selected releases, including the releases in Failed.
	Releases int
	// Checked lists the releases that were checked, newest first.
	Checked []Checked
	// Findings lists at most 1000 findings with the codes of [Rules]. Findings about
	// the entire repository come first. They are followed by findings about each
	// release, newest first. More is the number of omitted findings.
	Findings []finding.Finding
	More     int
	// Counts is the number of findings by severity, including omitted findings.
	Counts map[finding.Severity]int
	Failed []Failure
	// Skipped lists the pre-releases that were skipped because all releases were
	// selected, newest first. To be selected, a pre-release must be specified exactly.
	Skipped []provider.Version
	// None contains the errors for requirements that select no version. It is used only
	// if ManyOptions.AllowNone is set.
	None []error
}

// HasErrors reports whether a finding is an error.
func (r *Report) HasErrors() bool { return r.Counts[finding.Error] > 0 }

// Repository checks the releases in a repository that match the requirements. All
// requirements must be for the same provider. Each release is checked only once. If the
// tags can't be listed or the context is canceled, Repository returns an error. The
// report then contains the results so far.
func Repository(ctx context.Context, repo repository.Reader, wanted []provider.Requirement, o Options) (Report, error) {
	report := Report{Counts: map[finding.Severity]int{}}
	// 1. Check the tags, and the versions that the origin registry offers.
	tags, err := repo.Tags(ctx)
	if err != nil {
		return report, err
	}
	chosen := report.choose(tags, wanted, o.Latest)
	if !slices.ContainsFunc(wanted, func(r provider.Requirement) bool { return r.Address.IsModule() }) { // OpenTofu accepts all tags of modules
		report.tags(tags, wanted, o.Template)
	}
	var unanswered error
	if o.Origin != nil {
		unanswered = report.compareVersions(ctx, tags, wanted, o)
	}
	// 2. Check each release.
	zips := schedule.NewLimiter(maxZips, 0)
	schedule.Each(ctx, len(chosen), func(ctx context.Context, i int) (*verification, bool) {
		a := newVerification(repo, zips, chosen[i].Address, chosen[i].version, o)
		a.err = a.release(ctx)
		return a, true
	}, func(a *verification) { report.take(a, chosen) })
	if unanswered != nil && !slices.ContainsFunc(report.Failed, Failure.isRelease) { // a failed release usually has the same error
		report.Failed = append(report.Failed, Failure{Wanted: wanted[0], Err: unanswered})
	}
	for _, n := range report.Counts {
		report.More += n
	}
	report.More -= len(report.Findings)
	return report, ctx.Err()
}

func (r *Report) add(f finding.Finding) {
	r.Counts[f.Severity]++
	r.keep(f)
}

// keep stores findings up to the limit.
func (r *Report) keep(findings ...finding.Finding) {
	room := maxFindings - len(r.Findings)
	r.Findings = append(r.Findings, findings[:min(room, len(findings))]...)
}

// take adds the result for a release.
func (r *Report) take(a *verification, chosen []choice) {
	r.Releases++
	r.keep(a.findings...)
	for severity, n := range a.counts {
		r.Counts[severity] += n
	}
	if a.err == nil {
		r.Checked = append(r.Checked, a.checked())
		return
	}
	i := slices.IndexFunc(chosen, func(c choice) bool { return c.version == a.version })
	r.Failed = append(r.Failed, Failure{chosen[i].Requirement, a.version, a.err})
}
