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

// ErrNoConfiguration means that a directory has no configuration files.
var ErrNoConfiguration = provider.Errorf(provider.Misuse, "no configuration found")

// maxProblems is the maximum number of reported problems.
const maxProblems = 20

// problems collects errors in a configuration.
type problems struct{ all []*stricthcl.Error }

func (p *problems) add(at stricthcl.Position, format string, args ...any) {
	err := fmt.Errorf(format, args...)
	p.all = append(p.all, &stricthcl.Error{Position: at, Problem: err.Error(), Err: errors.Unwrap(err)})
}

// diagnostics adds the errors in the given diagnostics and reports whether it added
// any.
func (p *problems) diagnostics(file string, found hcl.Diagnostics) bool {
	for _, d := range found {
		if d.Severity == hcl.DiagError {
			p.all = append(p.all, stricthcl.OfDiagnostic(file, d))
		}
	}
	return found.HasErrors()
}

// error joins all problems into one error. If it has found no problems, it returns nil.
// If ctx is canceled, it returns the cause.
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
