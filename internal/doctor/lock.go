package doctor

import (
	"fmt"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/finding"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// CheckLock returns a finding if a lock file entry lacks the hash of the zip to be
// installed. The entry can be nil. For OCI registries, OpenTofu accepts only zh:
// hashes.
func CheckLock(l *lockfile.Selection, p provider.Platform, zip digest.Digest) []finding.Finding {
	if l == nil || len(l.Hashes) == 0 || zip == "" {
		return nil
	}
	zh := lockfile.Hash(sums.ZH(zip))
	line := fmt.Sprintf("%q,", zh)
	switch {
	case slices.Contains(l.Hashes, zh):
		return nil
	case !slices.ContainsFunc(l.Hashes, lockfile.Hash.IsZH):
		return []finding.Finding{finding.New(finding.Error, "lock-h1-only",
			fmt.Sprintf("The lock file contains only h1: hashes of %s %s, but for an OCI registry, OpenTofu requires the zh: hash of the zip.", l.Address, l.Version), finding.Remedy{Hint: "add to hashes:\n" + line})}
	}
	return []finding.Finding{finding.New(finding.Error, "lock-hash-missing",
		fmt.Sprintf("The lock file contains zh: hashes of %s %s, but not the hash of the zip for %s in the repository.", l.Address, l.Version, p),
		finding.Remedy{Hint: "compare the hash with the checksums of the origin registry; if the zip is correct, add to hashes:\n" + line})}
}
