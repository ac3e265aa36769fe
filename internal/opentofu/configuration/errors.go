package configuration

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// ErrNoConfiguration says that a directory has no configuration files.
var ErrNoConfiguration = provider.Errorf(provider.Misuse, "there is no configuration")

// maxProblems bounds what is said of one configuration. Who has that many wants
// to see the first.
const maxProblems = 20

// problems collects what is wrong.
type problems struct{ all []*stricthcl.Error }

func (p *problems) add(at stricthcl.Position, format string, args ...any) {
	err := fmt.Errorf(format, args...)
	p.all = append(p.all, &stricthcl.Error{Position: at, Problem: err.Error(), Err: errors.Unwrap(err)})
}

// diagnostics adds what HCL says, and tells whether there was an error.
func (p *problems) diagnostics(file string, found hcl.Diagnostics) bool {
	for _, d := range found {
		if d.Severity == hcl.DiagError {
			p.all = append(p.all, stricthcl.OfDiagnostic(file, d))
		}
	}
	return found.HasErrors()
}

// error returns all problems as one error, nil when there are none. A context that
// ended goes first.
func (p *problems) error(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	all := slices.Clone(p.all)
	slices.SortStableFunc(all, func(a, b *stricthcl.Error) int { return a.Position.Compare(b.Position) })
	errs := make([]error, 0, min(len(all), maxProblems)+1)
	for i, e := range all {
		if i == maxProblems {
			errs = append(errs, fmt.Errorf("and %d more", len(all)-i))
			break
		}
		errs = append(errs, e)
	}
	if len(errs) == 0 {
		return nil
	}
	return provider.Errorf(provider.Misuse, "%w", errors.Join(errs...))
}
