package credentials

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// stops returns the file or block that makes OpenTofu fail, regardless of the
// credentials that it would use. It also returns the reason. If nothing makes OpenTofu
// fail, both strings are empty.
func (r *Resolver) stops(all []*candidate) (where, why string) {
	// OpenTofu reads all files that the configuration specifies before it looks for
	// credentials.
	if r.hasConfiguredFiles() {
		if path := refused(r.files()); path != "" {
			return path, "OpenTofu fails, because it rejects " + path
		}
	}
	// A block without credentials or an entry with an invalid auth is an error if
	// OpenTofu finds different credentials, even more specific ones. Otherwise,
	// OpenTofu ignores the block or entry.
	if openTofuCandidate(all) == nil {
		return "", ""
	}
	for _, c := range all {
		if c.stops != "" && c.skipped == "" {
			return cmp.Or(c.origin.File, c.origin.Block), fmt.Sprintf("OpenTofu fails, because %s %s", c.origin.where(), c.stops)
		}
	}
	return "", ""
}

// compare explains why OpenTofu doesn't find the same credentials as this package. If
// OpenTofu finds them, compare returns an empty string. all is sorted by precedence.
// from is nil if this package found no credentials.
func (r *Resolver) compare(ctx context.Context, repo repository, all []*candidate, from *candidate) string {
	taken := openTofuCandidate(all)
	switch {
	case from == nil && (taken == nil || taken.origin.Helper != ""):
		return ""
	case from == nil:
		return "OpenTofu uses the credentials in " + taken.origin.where()
	case repo.registry == hub:
		// OpenTofu's credentials are for one host, but its requests go to a different
		// host (opentofu/cmd/tofu/oci_distribution.go).
		return "OpenTofu supports Docker Hub only as registry-1.docker.io"
	case from.skipped != "" && taken != nil:
		return fmt.Sprintf("%s, so it uses the credentials in %s", from.skipped, taken.origin.where())
	case from.skipped != "":
		return from.skipped
	case from != taken:
		return fmt.Sprintf("OpenTofu uses the credentials in %s", taken.origin.where())
	case from.differs != "":
		return from.differs
	case from.origin.Helper != "":
		return r.compareHelper(ctx, repo, from)
	}
	return ""
}

// openTofuCandidate returns the source that OpenTofu uses, even if the source fails.
func openTofuCandidate(all []*candidate) *candidate {
	seen := slices.DeleteFunc(slices.Clone(all), func(c *candidate) bool { return c.skipped != "" || c.stops != "" })
	if len(seen) == 0 {
		return nil
	}
	slices.SortStableFunc(seen, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(b.depth, a.depth), cmp.Compare(a.rank, b.rank))
	})
	return seen[0]
}

// compareHelper queries a helper for the registry name that OpenTofu uses and explains
// why the result differs from from's credentials. If the results are equal,
// compareHelper returns "".
func (r *Resolver) compareHelper(ctx context.Context, repo repository, from *candidate) string {
	name, server := program(from.origin.Helper), repo.openTofuServer()
	theirs, err := r.queryHelper(ctx, helperRequest{helper: from.origin.Helper, server: server})
	switch {
	case err != nil:
		return fmt.Sprintf("OpenTofu queries %s for %q, but the query fails", name, server)
	case !theirs.hasSecret():
		return fmt.Sprintf("OpenTofu queries %s only for %q, but the helper has no credentials for this name", name, server)
	case !theirs.IdentityToken.IsEmpty():
		return "OpenTofu does not support identity tokens from helpers"
	case theirs.Username != from.credential.Username:
		return fmt.Sprintf("OpenTofu queries %s for %q and gets different credentials", name, server)
	case theirs.Password != from.credential.Password:
		// Some helpers create a new token for each query. If this helper doesn't,
		// OpenTofu gets an old password, because docker login replaces only the entry
		// that Docker reads.
		again, err := r.timeouts.runGet(ctx, helperRequest{helper: from.origin.Helper, server: from.origin.Asked})
		if err == nil && again == from.credential {
			return fmt.Sprintf("OpenTofu queries %s for %q and gets a different password", name, server)
		}
	}
	return ""
}
