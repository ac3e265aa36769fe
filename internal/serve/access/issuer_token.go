package access

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
)

const (
	// maxIssuerToken limits the length of a token in bytes. Tokens from GitHub and
	// GitLab are about 2,000 bytes long, and servers accept headers of about 16,000
	// bytes.
	maxIssuerToken = 16 << 10
	// maxClaims limits the number of JSON values in a token.
	maxClaims = 2048
	// leeway is the maximum clock skew that is tolerated between the issuer and this
	// machine.
	leeway = time.Minute
)

// algorithms contains the accepted signature algorithms. It excludes algorithms with a
// shared secret, because an attacker could use a public key as the secret. It also
// excludes "none".
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

// compactForm matches the required form of a token. The decoder would also accept line
// breaks.
var compactForm = regexp.MustCompile(`^[\w-]+\.[\w-]+\.[\w-]+$`)

// issuerToken is an OpenID Connect issuer's token. Its claims are untrusted until check
// has verified the signature.
type issuerToken struct {
	signed *jose.JSONWebSignature
	jwt.Claims
	all map[string]json.RawMessage
}

// parseIssuerToken parses a token. Its errors contain no part of the token.
func parseIssuerToken(text string) (t issuerToken, err error) {
	if len(text) > maxIssuerToken {
		return t, fmt.Errorf("the token exceeds %d bytes", maxIssuerToken)
	}
	if !compactForm.MatchString(text) {
		return t, errors.New("the token is not a JSON Web Token")
	}
	if t.signed, err = jose.ParseSignedCompact(text, algorithms); err != nil {
		return t, errors.New("the token is not a JSON Web Token, or its algorithm is not supported")
	}
	payload := t.signed.UnsafePayloadWithoutVerification()
	if bounded.DecodeJSON(payload, &t.all, maxClaims) != nil || json.Unmarshal(payload, &t.Claims) != nil {
		return t, errors.New("the token contains invalid claims or too many claims")
	}
	return t, nil
}

// check verifies a token's signature, audience, and times.
func (t issuerToken) check(keys []jose.JSONWebKey, audience string) error {
	verified := false
	for _, key := range keys {
		_, err := t.signed.Verify(key.Key)
		verified = verified || err == nil
	}
	switch {
	case len(keys) == 0:
		return errors.New("the issuer has no key for this token")
	case !verified:
		return errors.New("the signature does not match the issuer's keys")
	case t.Expiry == nil:
		return errors.New("the token has no expiry")
	}
	claims := t.Claims
	claims.IssuedAt = nil // not checked
	return claims.ValidateWithLeeway(jwt.Expected{AnyAudience: jwt.Audience{audience}, Time: time.Now()}, leeway)
}

// claimValues returns the values of a claim as text. The claim can be a string, a
// number or Boolean in JSON form, or a list of these. All other values are ignored.
func (t issuerToken) claimValues(name string) (all []string) {
	elements := []json.RawMessage{t.all[name]}
	if value := bytes.TrimSpace(t.all[name]); len(value) > 0 && value[0] == '[' {
		_ = json.Unmarshal(value, &elements) // the JSON has already been parsed
	}
	for _, element := range elements {
		var value any
		decoder := json.NewDecoder(bytes.NewReader(element))
		decoder.UseNumber()
		if decoder.Decode(&value) != nil {
			continue
		}
		switch value.(type) {
		case string, bool, json.Number:
			all = append(all, fmt.Sprint(value))
		}
	}
	return all
}
