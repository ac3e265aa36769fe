package serve

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/tofu-oci/tofu-oci/internal/serve/access"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// mayRequest reports whether the caller can read any of the releases that are served
// for the address.
func (q query) mayRequest() bool {
	return q.caller.MayRead(q.address) ||
		slices.ContainsFunc(q.aliases, func(x provider.Alias) bool { return x.Requested.Match(q.address) })
}

// authorizationError returns a refusal if err is nil but the caller has no access to
// the stored address. If err is a not-found error and the caller has no access to the
// requested address, it also returns a refusal. Otherwise, it returns err without the
// names of other providers.
func (q query) authorizationError(stored provider.Address, err error) error {
	switch {
	case err == nil && !q.caller.MayRead(stored):
		return q.refusal(stored)
	case isAbsent(err) && !q.caller.MayRead(q.address):
		return q.refusal(q.address)
	}
	return q.withoutForeignAddress(err)
}

// withoutForeignAddress replaces an error that contains the address of a different
// provider, unless the caller can read that provider.
func (q query) withoutForeignAddress(err error) error {
	if !isForeign(err) || q.caller.MayRead(foreignTo(err)) {
		return err
	}
	status, text := statusOf(q.notFound())
	return withCause(err, status, text)
}

// refusal returns the error for a caller without access to a stored address. Only the
// log contains the address.
func (q query) refusal(stored provider.Address) error {
	reason := fmt.Errorf("stored as %s", stored)
	if stored.Host == "" {
		reason = errors.New("the stored address is unknown; only callers with access to all addresses can read the content")
	}
	switch {
	case q.byLink:
		return withCause(fmt.Errorf("%w: %w", access.ErrInvalidToken, reason), http.StatusForbidden, linkRefused)
	case q.caller.Name == "":
		return withCause(reason, http.StatusUnauthorized, fmt.Sprintf("a token is required for %s", q.address))
	}
	return withCause(reason, http.StatusForbidden, fmt.Sprintf("the token does not grant access to %s", q.address))
}

// errForeignModule means that a repository contains a different module.
var errForeignModule = errors.New("the repository contains a different module")

// isForeign reports whether an error means that a release belongs to a different
// provider or module.
func isForeign(err error) bool {
	_, is := errors.AsType[*repository.ProviderMismatchError](err)
	return is || errors.Is(err, errForeignModule)
}

// aliasAdvice recommends adding an alias. It returns "" if no alias would allow the
// release of the other provider.
func aliasAdvice(err error) string {
	if foreign, is := errors.AsType[*repository.ProviderMismatchError](err); is {
		if alias, ok := foreign.Alias(); ok {
			return fmt.Sprintf("; to serve the stored provider instead, add --alias %s", alias)
		}
	}
	return ""
}

// foreignTo returns the address of the other provider that err reports.
func foreignTo(err error) (stored provider.Address) {
	if foreign, is := errors.AsType[*repository.ProviderMismatchError](err); is {
		stored, _ = provider.ParseAddress(foreign.Provider)
	}
	return stored
}

// isAbsent reports whether an error means that a provider or version doesn't exist.
func isAbsent(err error) bool {
	return isForeign(err) || errors.Is(err, provider.ErrProviderNotFound) || errors.Is(err, provider.ErrVersionNotFound)
}

func isFormat(err error) bool {
	_, is := errors.AsType[*artifact.FormatError](err)
	return is
}

// isUnreadable reports whether a tag exists but doesn't point to a readable release.
func isUnreadable(err error) bool {
	_, isLost := errors.AsType[*repository.DanglingTagError](err)
	return isLost || isFormat(err)
}
