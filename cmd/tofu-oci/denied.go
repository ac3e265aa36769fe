package main

import (
	"context"

	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/pkg/lock"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source"
)

// warnDenied reports the denied versions that would otherwise have been chosen for a
// requirement, of which n were wanted, or all if n is 0. chosen are the chosen versions.
func warnDenied(ctx context.Context, out *report.Report, src provider.Source, r provider.Requirement, n int, chosen ...provider.Version) {
	for _, v := range source.Denied(ctx, src, r, n, chosen) {
		out.Warn("%s %s is denied, and skipped", r.Address, v)
	}
}

// warnDeniedLocked is warnDenied for a version that was chosen for a lock file.
func warnDeniedLocked(ctx context.Context, out *report.Report, src provider.Source, l lock.Locked, upgrade bool) {
	constraint, err := l.Wanted.Constraint.And(l.Wanted.Narrower)
	if err != nil || l.Err != nil || l.Was != nil && !upgrade {
		return
	}
	warnDenied(ctx, out, src, provider.Requirement{Address: l.Wanted.Address, Constraint: constraint}, 1, l.Selection.Version)
}
