// Package verify finds what is wrong with the releases that an OCI repository holds:
// what is missing or damaged, what OpenTofu would not read, what contradicts itself,
// what the signature does not prove, and where it differs from the origin registry.
// It changes nothing, and starts nothing.
//
//	verify = OCI repository → Inspect → findings
//
// Use it to audit a mirror, in a program of your own or in a job of a pipeline.
package verify

import (
	"context"
	"slices"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/finding"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

const (
	// maxFindings bounds what a [Report] has: nobody reads more, and repositories
	// are anybody's.
	maxFindings = 1000
	// maxOfRelease bounds the findings of one release, which has some at each
	// platform when something is wrong with all of them.
	maxOfRelease = 100
	// maxZips is how many zips are read at once.
	maxZips = 4
)

// Options of [Repository]. The zero value looks at all releases that a requirement
// means, and judges no signature.
type Options struct {
	// Newest is how many versions that meet the requirement are looked at, the
	// newest first; 0 means all.
	Newest int
	// Deep reads every blob: what registries and disks let rot under a name that is
	// right, and h1 hashes that are stated wrongly.
	Deep bool
	// Judge says what the signature of a release proves, as trust.Policy's method
	// does. What it refuses is an error, what it warns of a warning. May be nil.
	Judge func(context.Context, provider.Release) (provider.Verdict, error)
	// Launch starts the package for this machine's platform, of releases in which no
	// error was found, and says what is wrong with it, in a sentence without its full
	// stop; package launch does that. Its error is that of a repository that does not
	// answer, or of a context that has ended. May be nil.
	Launch func(ctx context.Context, p provider.Package) (problem string, err error)
	// Origin is the source that the releases came from, which they are compared
	// with; nil compares with none.
	Origin provider.Source
	// Aliases are addresses under which a release may be stored instead.
	Aliases provider.Aliases
	// Template is what named the repository, for the commands in remedies.
	Template template.Template
}

// Failure is what could not be looked at.
type Failure struct {
	// Wanted is the requirement that means it, the first of several.
	Wanted provider.Requirement
	// Version is that of a release whose repository or origin did not answer to the
	// end. The zero value is what is about the requirement: no version is there that
	// meets it, which is [provider.ErrVersionNotFound], or the origin does not say which
	// versions it offers.
	Version provider.Version
	Err     error
}

func (f Failure) isRelease() bool { return f.Version != provider.Version{} }

// Checked is a release whose check was completed.
type Checked struct {
	Address provider.Address
	Version provider.Version
	// Stored is the location of the release. It has no digest if the tag is dangling.
	Stored provider.Stored
	// Verdict is the result of Judge, or the zero value if it was not called.
	Verdict provider.Verdict
	// Counts is the number of findings by severity.
	Counts map[finding.Severity]int
}

// Report says what was found.
type Report struct {
	// Releases counts those that were looked at, Failed ones included.
	Releases int
	// Checked are the others, newest first.
	Checked []Checked
	// Findings have the codes of [Rules]. They are at most a thousand, those about the whole repository first, then
	// release by release, the newest first; More counts the others.
	Findings []finding.Finding
	More     int
	// Counts has how many findings of a severity there are, those in More too.
	Counts map[finding.Severity]int
	Failed []Failure
	// LeftOut are the pre-releases that were not looked at where all releases were to
	// be, newest first: each has to be named exactly.
	LeftOut []provider.Version
}

// Unsound reports whether a finding is an error.
func (r *Report) Unsound() bool { return r.Counts[finding.Error] > 0 }

// Repository looks at the releases in a repository that requirements of one provider
// mean, at each once however many mean it. What is wrong with them is in the report,
// and so is what could not be looked at. Errors are those of a repository that does not
// list its tags, and that of a context that ended, beside what was found until then.
func Repository(ctx context.Context, repo repository.Reader, wanted []provider.Requirement, o Options) (Report, error) {
	report := Report{Counts: map[finding.Severity]int{}}
	// 1. The tags, and what the origin has beside them.
	tags, err := repo.Tags(ctx)
	if err != nil {
		return report, err
	}
	chosen := report.choose(tags, wanted, o.Newest)
	report.tags(tags, wanted, o.Template)
	var unanswered error
	if o.Origin != nil {
		unanswered = report.compareVersions(ctx, tags, wanted, o)
	}
	// 2. Each release.
	zips := schedule.NewLimiter(maxZips, 0)
	schedule.Each(ctx, len(chosen), func(ctx context.Context, i int) (*audit, bool) {
		a := newAudit(repo, zips, chosen[i].Address, chosen[i].version, o)
		a.err = a.release(ctx)
		return a, true
	}, func(a *audit) { report.take(a, chosen) })
	if unanswered != nil && !slices.ContainsFunc(report.Failed, Failure.isRelease) { // which mostly say the same
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

// keep keeps findings that are counted, as long as there is room.
func (r *Report) keep(findings ...finding.Finding) {
	room := maxFindings - len(r.Findings)
	r.Findings = append(r.Findings, findings[:min(room, len(findings))]...)
}

// take adds what was found of a release, one of those that were chosen.
func (r *Report) take(a *audit, chosen []choice) {
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
