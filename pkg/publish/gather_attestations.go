package publish

import (
	"context"
	"fmt"
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
)

// errUnattested is returned if a package has no attestation, but one is required.
var errUnattested = provider.Errorf(provider.Unverified, "no attestation found")

// readUnattested finds the unchanged packages that have no attestations.
func (j *job) readUnattested(ctx context.Context, f *facts) error {
	has, err := oci.Attestations(ctx, f.kept)
	f.unattestedPackages = slices.DeleteFunc(slices.Clone(f.kept.Packages), func(p provider.Package) bool { return len(has[p.Digest]) > 0 })
	return err
}

// readAttestations reads the attestations of the packages that a plan adds. If the plan
// adds no packages, it reads attestations for the unchanged packages that have none.
// Bundles about SHA256SUMS become documents of a new release.
func (j *job) readAttestations(ctx context.Context, f *facts) (err error) {
	r := f.release
	isUnattested := func(p provider.Package) bool {
		return slices.ContainsFunc(f.unattestedPackages, func(l provider.Package) bool { return l.Digest == p.Digest })
	}
	r.Packages = slices.DeleteFunc(slices.Clone(r.Packages), func(p provider.Package) bool {
		return f.unattestedPackages == nil && slices.Contains(f.intact, p.Platform) || f.unattestedPackages != nil && !isUnattested(p)
	})
	if ask := j.can.Attestations; ask != nil && len(r.Packages) > 0 {
		f.attestations, err = ask(ctx, r)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if f.unattested = err; f.unattestedPackages != nil {
		return nil
	}
	for _, p := range r.Packages {
		if err == nil && len(f.attestations[p.Digest]) == 0 && j.options.Attestations == AttestationsRequire {
			err = fmt.Errorf("%s: %w", p.Filename, errUnattested)
		}
	}
	if err != nil && j.options.Attestations == AttestationsRequire {
		return fmt.Errorf("reading attestations: %w", err)
	}
	sums, _ := r.Document(provider.KindSums)
	for _, bundle := range f.attestations[sums.Digest] {
		bundle.Scope = provider.ScopeRelease
		if _, has := r.Document(provider.KindSigstore); !has {
			f.release.Documents = append(slices.Clip(f.release.Documents), bundle)
			break // a manifest contains at most one bundle
		}
	}
	return nil
}
