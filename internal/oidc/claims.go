package oidc

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/tofu-oci/tofu-oci/internal/boundedjson"
)

// maxClaims bounds the values of a token.
const maxClaims = 2048

// Claims are what a token says of its owner, by name.
type Claims map[string]json.RawMessage

// claimsOf gives those of a token whose signature is right.
func claimsOf(token *oidc.IDToken) (Claims, error) {
	var payload json.RawMessage
	if err := token.Claims(&payload); err != nil {
		return nil, errors.New("it has other claims than an object")
	}
	return parseClaims(payload)
}

// unproven gives those of a token that nobody has checked.
func unproven(token string) (Claims, error) {
	if !IsToken(token) {
		return nil, fmt.Errorf("%w: it has another form", ErrInvalid)
	}
	payload, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	if err != nil {
		return nil, fmt.Errorf("%w: it has another form", ErrInvalid)
	}
	claims, err := parseClaims(payload)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return claims, nil
}

func parseClaims(payload []byte) (Claims, error) {
	var claims Claims
	if err := boundedjson.Unmarshal(payload, &claims, maxClaims); err != nil {
		return nil, errors.New("it has other claims than an object, or too many")
	}
	return claims, nil
}

// Texts gives the values of a claim as text: a string as it is, a number and a
// boolean as JSON writes them, the elements of a list each. Other values, and
// claims that are missing, have none.
func (c Claims) Texts(name string) []string {
	value := bytes.TrimSpace(c[name])
	if len(value) == 0 {
		return nil
	}
	if value[0] != '[' {
		return appendText(nil, value)
	}
	var elements []json.RawMessage
	if json.Unmarshal(value, &elements) != nil {
		return nil
	}
	var all []string
	for _, element := range elements {
		all = appendText(all, bytes.TrimSpace(element))
	}
	return all
}

func appendText(all []string, value []byte) []string {
	switch value[0] {
	case '"':
		var text string
		if json.Unmarshal(value, &text) != nil {
			return all
		}
		return append(all, text)
	case '{', '[', 'n':
		return all
	}
	return append(all, string(value))
}

// begun tells whether a token counts at a time yet.
func (c Claims) begun(now time.Time) error {
	value, said := c["nbf"]
	if !said || string(value) == "null" {
		return nil
	}
	var since float64
	if err := json.Unmarshal(value, &since); err != nil {
		return errors.New("its nbf is no time")
	}
	if float64(now.Unix()) < since {
		return errors.New("it does not count yet")
	}
	return nil
}
