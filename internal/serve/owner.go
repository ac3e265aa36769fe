package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/tofu-oci/tofu-oci/internal/serve/access"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// maxUnreadable limits the number of unreadable releases that are read, newest first,
// to determine a repository's provider.
const maxUnreadable = 4

// unstated returns the address of releases without a provider annotation in a
// repository. The address is zero unless the repository name determines it.
func (v *view) unstated(t template.Template, ref template.Reference) provider.Address {
	addresses, _ := t.Match(ref)
	if len(addresses) != 1 {
		return provider.Address{}
	}
	a := addresses[0]
	if hostname, _, _ := t.Uses(); !hostname {
		if v.unannotated == "" {
			return provider.Address{}
		}
		a.Host = v.unannotated
	}
	return a
}

// ownerOf returns the address under which a release is stored, or zero if the address
// is unknown. It returns a *[repository.ProviderMismatchError] if the release must not
// be served for the requested address.
func (p providerQuery) ownerOf(found repository.Inspection, unstated provider.Address) (provider.Address, error) {
	stated := found.Index.Annotations[artifact.AnnotationProvider]
	if stated == "" {
		if unstated == (provider.Address{}) {
			return unstated, nil
		}
		stated = unstated.String()
		found.Index.Annotations = map[string]string{artifact.AnnotationProvider: stated}
	}
	if err := found.CheckProvider(p.address, p.aliases...); err != nil {
		return provider.Address{}, err
	}
	return provider.ParseAddress(stated)
}

// owner returns the address under which the releases in a repository are stored. The
// newest readable release determines this address. owner returns the errors of ownerOf
// and of the repository.
func (rc *repositoryCache) owner(ctx context.Context, q providerQuery, l listing) (provider.Address, error) {
	if len(l.newest) == 0 {
		return q.address, nil // an empty repository reveals nothing
	}
	for _, tag := range l.newest {
		i, _, err := rc.read(ctx, l.repo, tag, max(listAge, rc.indexes.maxAge))
		switch {
		case err == nil:
			return q.ownerOf(i.Inspection, l.unstated)
		case !isUnreadable(err) && !isAbsent(err):
			return provider.Address{}, err
		}
	}
	return l.unstated, nil
}

// mayRequest reports whether the caller can read any of the releases that are served
// for the address.
func (p providerQuery) mayRequest() bool {
	return p.caller.MayRead(p.address) ||
		slices.ContainsFunc(p.aliases, func(x provider.Alias) bool { return x.Requested.Match(p.address) })
}

// authorizationError returns nil if the caller has access to the stored address.
// Otherwise, it returns a refusal, or err without the names of other providers. If
// nothing was found and the caller has no access to the requested address, it returns a
// refusal instead of a not-found error.
func (p providerQuery) authorizationError(stored provider.Address, err error) error {
	switch {
	case err == nil && !p.caller.MayRead(stored):
		return p.refusal(stored)
	case isAbsent(err) && !p.caller.MayRead(p.address):
		return p.refusal(p.address)
	}
	return p.withoutForeignAddress(err)
}

// withoutForeignAddress replaces an error that contains the address of a different
// provider, unless the caller can read that provider.
func (p providerQuery) withoutForeignAddress(err error) error {
	if !isForeign(err) || p.caller.MayRead(foreignTo(err)) {
		return err
	}
	return because(err, http.StatusNotFound, fmt.Sprintf("%v: no repository contains %s", provider.ErrProviderNotFound, p.address))
}

// refusal returns the error for a caller without access to a stored address. Only the
// log contains the address.
func (p providerQuery) refusal(stored provider.Address) error {
	return refusal(p.caller, p.byLink, p.address.String(), stored.String())
}

// refusal returns the error for a caller without access to a stored address. stored is
// empty if the address is unknown.
func refusal(caller access.Caller, byLink bool, requested, stored string) error {
	reason := fmt.Errorf("stored as %s", stored)
	if stored == "" {
		reason = errors.New("the stored address is unknown; only callers with access to all addresses can read the content")
	}
	switch {
	case byLink:
		return because(fmt.Errorf("%w: %w", access.ErrDenied, reason), http.StatusForbidden, linkRefused)
	case caller.Name == "":
		return because(reason, http.StatusUnauthorized, fmt.Sprintf("a token is required for %s", requested))
	}
	return because(reason, http.StatusForbidden, fmt.Sprintf("the token does not grant access to %s", requested))
}

// isForeign reports whether an error means that a release belongs to a different
// provider or module.
func isForeign(err error) bool {
	_, is := errors.AsType[*repository.ProviderMismatchError](err)
	return is || errors.Is(err, errForeignModule)
}

// aliasAdvice returns a recommendation to add an alias, or "" if no alias would allow
// the release of the different provider.
func aliasAdvice(err error) string {
	if foreign, is := errors.AsType[*repository.ProviderMismatchError](err); is {
		if alias, ok := foreign.Alias(); ok {
			return fmt.Sprintf("; to serve the stored provider instead, add --alias %s", alias)
		}
	}
	return ""
}

// foreignTo returns the address of the different provider that err reports, or zero if
// the address is unknown.
func foreignTo(err error) (stored provider.Address) {
	if foreign, is := errors.AsType[*repository.ProviderMismatchError](err); is {
		stored, _ = provider.ParseAddress(foreign.Provider)
	}
	return stored
}
