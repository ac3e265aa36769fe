package access

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"slices"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// Rules specify who may read which providers. They deny by default, so the zero value
// allows nothing. Nil stands for a server without rules, and allows everything.
type Rules struct {
	// Hosts are those that the file publishes, in its order.
	Hosts []Host

	anonymous []provider.Pattern
	tokens    []staticToken
	issuers   []issuer
	keys      *keyCache
}

// Host is one that the provider registry protocol serves.
type Host struct {
	// Name is the host that clients ask for.
	Name svchost.Hostname
	// Repository says where its providers are.
	Repository template.Template
	// As is the host of the addresses that Repository and the patterns of callers are
	// asked with: Name itself when the file says nothing.
	As svchost.Hostname
}

// staticToken is the hash of one. A token of 32 random bytes can't be guessed from
// it, so it needs no salt and no slow hash.
type staticToken struct {
	name     string
	hash     [sha256.Size]byte
	patterns []provider.Pattern
}

// issuer is whose tokens count, for which audience.
type issuer struct {
	name, url, audience string
	allow               []allow
}

// allow lets those in whose claims all fit.
type allow struct {
	claims   []claim
	patterns []provider.Pattern
}

// Open reports whether there are no rules, so that neither tokens nor signed links to
// archives matter.
func (r *Rules) AllowAll() bool { return r == nil }

// Who says whose request it is that has a bearer token; empty is none. What may be
// read without a token, those with one may read as well. Errors are [ErrNoToken],
// [ErrDenied] and [ErrUnavailable] with a reason, and those of the context.
//
// A token that is wrong is refused even where none is needed: its owner would look
// for the reason elsewhere.
func (r *Rules) Identify(ctx context.Context, bearer string) (Caller, error) {
	switch {
	case r.AllowAll():
		return Caller{patterns: []provider.Pattern{allProviders()}}, nil
	case bearer == "" && len(r.anonymous) == 0:
		return Caller{}, ErrNoToken
	case bearer == "":
		return Caller{patterns: r.anonymous}, nil
	}
	if c, found := r.staticCaller(bearer); found {
		return c, nil
	}
	return r.issuerCaller(ctx, bearer)
}

// static compares with all tokens, so that the time it takes says nothing.
func (r *Rules) staticCaller(bearer string) (c Caller, found bool) {
	hash := sha256.Sum256([]byte(bearer))
	at := -1
	for i, t := range r.tokens {
		equal := subtle.ConstantTimeCompare(hash[:], t.hash[:])
		at = subtle.ConstantTimeSelect(equal, i, at)
	}
	if at < 0 {
		return Caller{}, false
	}
	return r.caller(r.tokens[at].name, r.tokens[at].patterns), true
}

func (r *Rules) caller(name string, patterns []provider.Pattern) Caller {
	return Caller{Name: callerName(name), patterns: slices.Concat(patterns, r.anonymous)}
}

// issued returns the caller with a token of an issuer.
func (r *Rules) issuerCaller(ctx context.Context, bearer string) (Caller, error) {
	if len(r.issuers) == 0 {
		return Caller{}, fmt.Errorf("%w: it is none of the %d in the file", ErrDenied, len(r.tokens))
	}
	// 1. The claimed issuer.
	token, err := parseIssuerToken(bearer)
	if err != nil {
		return Caller{}, fmt.Errorf("%w: it is none of the %d in the file, and %w", ErrDenied, len(r.tokens), err)
	}
	at := slices.IndexFunc(r.issuers, func(i issuer) bool { return i.url == token.Issuer })
	if at < 0 {
		return Caller{}, fmt.Errorf("%w: the file does not name its issuer %.200q", ErrDenied, token.Issuer)
	}
	// 2. The proof.
	i := r.issuers[at]
	keys, err := r.keys.of(i.url).matching(ctx, token.signed)
	if err != nil {
		return Caller{}, err
	}
	if err := token.check(keys, i.audience); err != nil {
		return Caller{}, fmt.Errorf("%w: oidc %q: %w", ErrDenied, i.name, err)
	}
	// 3. What the owner may read.
	name := i.name
	if token.Subject != "" {
		name += ":" + token.Subject
	}
	var patterns []provider.Pattern
	for _, a := range i.allow {
		if a.matches(token) {
			patterns = append(patterns, a.patterns...)
		}
	}
	if len(patterns) == 0 {
		return Caller{}, fmt.Errorf("%w: no allow block of oidc %q fits the claims of %s", ErrDenied, i.name, callerName(name))
	}
	return r.caller(name, patterns), nil
}

func allProviders() provider.Pattern {
	all, _ := provider.ParsePattern("*/*/*") // it is one
	return all
}
