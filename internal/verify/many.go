package verify

import (
	"context"
	"errors"
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// ManyOptions configures [Many]. Open is required.
type ManyOptions struct {
	Options
	// Open returns the repository of a provider and the template that maps the provider
	// to this repository. This template replaces Options.Template.
	Open func(a provider.Address) (repository.Reader, template.Template, error)
	// AllowNone reports requirements that select no version in Report.None instead of
	// Report.Failed.
	AllowNone bool
	// Started, if not nil, is called before a provider is verified. The returned
	// function is called after the provider has been verified.
	Started func(a provider.Address) (done func())
	// Done, if not nil, is called with the report of each provider.
	Done func(Report)
}

// Many verifies the releases that requirements select and returns one report for each
// provider. It verifies the providers sequentially. If a provider fails, the other
// providers are still verified.
func Many(ctx context.Context, wanted []provider.Requirement, o ManyOptions) []Report {
	var reports []Report
	for _, group := range byProvider(wanted) {
		report := o.verify(ctx, group)
		if o.Done != nil {
			o.Done(report)
		}
		reports = append(reports, report)
	}
	return reports
}

// verify verifies the releases of one provider.
func (o ManyOptions) verify(ctx context.Context, wanted []provider.Requirement) Report {
	a := wanted[0].Address
	repo, from, err := o.Open(a)
	var report Report
	if err == nil {
		done := func() {}
		if o.Started != nil {
			done = o.Started(a)
		}
		o.Template = from
		report, err = Repository(ctx, repo, wanted, o.Options)
		report.Repository = repo.String()
		done()
	}
	report.Address = a
	if o.AllowNone {
		report.Failed = slices.DeleteFunc(report.Failed, func(f Failure) bool {
			_, none := errors.AsType[*provider.VersionError](f.Err)
			if none {
				report.None = append(report.None, f.Err)
			}
			return none
		})
	}
	if err != nil {
		report.Failed = append(report.Failed, Failure{Wanted: wanted[0], Err: err})
	}
	return report
}

// byProvider groups requirements by provider, in the order of their first occurrence.
func byProvider(wanted []provider.Requirement) [][]provider.Requirement {
	var groups [][]provider.Requirement
	for _, r := range wanted {
		i := slices.IndexFunc(groups, func(g []provider.Requirement) bool { return g[0].Address == r.Address })
		if i < 0 {
			groups = append(groups, []provider.Requirement{r})
			continue
		}
		groups[i] = append(groups[i], r)
	}
	return groups
}
