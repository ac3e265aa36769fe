package credentials

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// stops finds what makes OpenTofu stop whatever login it would take: the file at
// fault, and why. Both are empty when there is none.
func (r *Resolver) stops(all []*candidate) (file, why string) {
	// It reads all files that the configuration names before it looks for a login.
	if r.hasConfiguredFiles() {
		if path := refused(r.files()); path != "" {
			return path, "OpenTofu stops, since it refuses " + path
		}
	}
	// An entry that it can't split is an error beside any login, even a more
	// specific one, and is passed over where there is none.
	if openTofuCandidate(all) == nil {
		return "", ""
	}
	for _, c := range all {
		if c.stops && c.skipped == "" {
			return c.origin.File, fmt.Sprintf(`OpenTofu stops, since what is in %s has an "auth" without a colon`, c.origin.where())
		}
	}
	return "", ""
}

// compare says why OpenTofu does not come to the same login, "" when it does.
// All is in our order, and from nil for no login.
func (r *Resolver) compare(ctx context.Context, repo repository, all []*candidate, from *candidate) string {
	taken := openTofuCandidate(all)
	switch {
	case from == nil && (taken == nil || taken.origin.Helper != ""):
		return ""
	case from == nil:
		return "OpenTofu takes what it finds in " + taken.origin.where()
	case repo.registry == hub:
		// The requests go to another host, which the login is not for
		// (opentofu/cmd/tofu/oci_distribution.go).
		return "OpenTofu logs in to Docker Hub only as registry-1.docker.io"
	case from.skipped != "" && taken != nil:
		return fmt.Sprintf("%s, and takes what it finds in %s", from.skipped, taken.origin.where())
	case from.skipped != "":
		return from.skipped
	case from != taken:
		return fmt.Sprintf("OpenTofu takes what it finds in %s, and looks no further", taken.origin.where())
	case from.differs != "":
		return from.differs
	case from.origin.Helper != "":
		return r.compareHelper(ctx, repo, from)
	}
	return ""
}

// openTofus is the source that OpenTofu takes, whatever comes of it.
func openTofuCandidate(all []*candidate) *candidate {
	seen := slices.DeleteFunc(slices.Clone(all), func(c *candidate) bool { return c.skipped != "" || c.stops })
	if len(seen) == 0 {
		return nil
	}
	slices.SortStableFunc(seen, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(b.depth, a.depth), cmp.Compare(a.rank, b.rank))
	})
	return seen[0]
}

// compareHelper asks a helper by the name that OpenTofu asks it by.
func (r *Resolver) compareHelper(ctx context.Context, repo repository, from *candidate) string {
	name, server := program(from.origin.Helper), repo.openTofuServer()
	theirs, err := r.queryHelper(ctx, helperRequest{helper: from.origin.Helper, server: server})
	switch {
	case err != nil:
		return fmt.Sprintf("OpenTofu asks %s for %q, which fails", name, server)
	case !theirs.hasSecret():
		return fmt.Sprintf("OpenTofu asks %s for %q only, and it knows no login by that name", name, server)
	case !theirs.IdentityToken.IsEmpty():
		return "OpenTofu takes no identity tokens from helpers"
	case theirs.Username != from.credential.Username:
		return fmt.Sprintf("OpenTofu asks %s for %q, and gets another login", name, server)
	case theirs.Password != from.credential.Password:
		// Some helpers create a new token each time. Otherwise, it is an old password, because
		// docker login replaces only the entry that Docker reads.
		again, err := runGet(ctx, helperRequest{helper: from.origin.Helper, server: from.origin.Asked})
		if err == nil && again == from.credential {
			return fmt.Sprintf("OpenTofu asks %s for %q, and gets another password", name, server)
		}
	}
	return ""
}
