package main

import (
	"context"

	"github.com/tofu-oci/tofu-oci/internal/report"
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
