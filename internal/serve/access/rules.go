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

// Rules specifies which callers can read which providers and modules. The zero value
// denies all access. A nil *Rules means that no rules are configured, and allows all
// access.
type Rules struct {
	// Hosts contains the published hosts, in the order of the file.
	Hosts []Host
	// Limits contains the server's limits, and Settings its other settings. Changes
	// apply only after a restart.
	Limits   Limits
	Settings Settings

	anonymous grant
	tokens    []staticToken
	issuers   []issuer
	keys      *keyCache
}

// Host is a host that the server publishes with the provider registry protocol.
type Host struct {
	// Name is the host that clients request.
	Name svchost.Hostname
	// Repository is the template for the providers' repositories. Modules is the
	// template for the modules' repositories, or the zero value.
	Repository template.Template
	Modules    template.ModuleTemplate
	// As is the host that replaces Name in addresses. It applies both to Repository and
	// to the callers' patterns. The default is Name.
	As svchost.Hostname
}

// staticToken is a token's hash. It needs neither a salt nor a slow hash function,
// because a token contains 32 random bytes.
type staticToken struct {
	grant
	name string
	hash [sha256.Size]byte
}

// issuer is a trusted issuer together with the required audience.
type issuer struct {
	name, url, audience string
	allow               []allow
}

// allow grants access to tokens with matching claims.
type allow struct {
	grant
	claims []claim
}

// AllowAll reports whether everyone can read everything and no tokens are configured.
// In this case, neither tokens nor signed links are required.
func (r *Rules) AllowAll() bool {
	return r == nil || len(r.tokens)+len(r.issuers) == 0 &&
		slices.Contains(r.anonymous.providers, allProviders()) && slices.Contains(r.anonymous.modules, allModules())
}

// Identify returns the caller for a bearer token. If the request has no token, bearer
// is empty. Callers with a token can also read everything that is readable without a
// token. Identify returns the context's error, or it wraps [ErrNoToken],
// [ErrInvalidToken], or [ErrUnavailable] with a reason.
//
// Identify rejects an invalid token even if no token is required, so that the token's
// owner notices the problem.
func (r *Rules) Identify(ctx context.Context, bearer string) (Caller, error) {
	switch {
	case r.AllowAll():
		return Caller{grant: grant{[]provider.Pattern{allProviders()}, []provider.ModulePattern{allModules()}}}, nil
	case bearer == "" && r.anonymous.isEmpty():
		return Caller{}, ErrNoToken
	case bearer == "":
		return Caller{grant: r.anonymous}, nil
	}
	if c, found := r.staticCaller(bearer); found {
		return c, nil
	}
	return r.issuerCaller(ctx, bearer)
}

// staticCaller returns the caller for a static token. It compares all tokens in
// constant time.
func (r *Rules) staticCaller(bearer string) (c Caller, found bool) {
	hash := sha256.Sum256([]byte(bearer))
	match := -1
	for i, t := range r.tokens {
		equal := subtle.ConstantTimeCompare(hash[:], t.hash[:])
		match = subtle.ConstantTimeSelect(equal, i, match)
	}
	if match < 0 {
		return Caller{}, false
	}
	return r.caller(r.tokens[match].name, r.tokens[match].grant), true
}

func (r *Rules) caller(name string, g grant) Caller {
	return Caller{Name: callerName(name), grant: g.with(r.anonymous)}
}

// issuerCaller returns the caller for an issuer's token.
func (r *Rules) issuerCaller(ctx context.Context, bearer string) (Caller, error) {
	if len(r.issuers) == 0 {
		return Caller{}, fmt.Errorf("%w: none of the %d token blocks matches", ErrInvalidToken, len(r.tokens))
	}
	// 1. Find the claimed issuer.
	token, err := parseIssuerToken(bearer)
	if err != nil {
		return Caller{}, fmt.Errorf("%w: none of the %d token blocks matches, and %w", ErrInvalidToken, len(r.tokens), err)
	}
	index := slices.IndexFunc(r.issuers, func(i issuer) bool { return i.url == token.Issuer })
	if index < 0 {
		return Caller{}, fmt.Errorf("%w: no oidc block for issuer %.200q", ErrInvalidToken, token.Issuer)
	}
	// 2. Verify the token.
	i := r.issuers[index]
	keys, err := r.keys.forIssuer(i.url).matching(ctx, token.signed)
	if err != nil {
		return Caller{}, err
	}
	if err := token.check(keys, i.audience); err != nil {
		return Caller{}, fmt.Errorf("%w: oidc %q: %w", ErrInvalidToken, i.name, err)
	}
	// 3. Determine what the caller can read.
	name := i.name
	if token.Subject != "" {
		name += ":" + token.Subject
	}
	var granted grant
	for _, a := range i.allow {
		if a.matches(token) {
			granted = granted.with(a.grant)
		}
	}
	if granted.isEmpty() {
		return Caller{}, fmt.Errorf("%w: no allow block of oidc %q matches the claims of %s", ErrInvalidToken, i.name, callerName(name))
	}
	return r.caller(name, granted), nil
}

func allModules() provider.ModulePattern { return provider.ModulePattern{"*", "*", "*", "*"} }

func allProviders() provider.Pattern {
	all, _ := provider.ParsePattern("*/*/*") // the pattern is valid
	return all
}
