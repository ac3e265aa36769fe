package access

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// maxName bounds a caller's name, in bytes, so that an archive's token which has it
// stays short.
const maxName = 96

// Caller is who sent a request. The zero value may read nothing.
type Caller struct {
	// Name is that of the token's block, with ":" and the subject behind it for a token
	// of an issuer: "ci", "github:repo:acme/rocket:ref:refs/heads/main". It is printable
	// ASCII of at most 96 bytes, with "~" and a hash at its end when the subject is
	// longer or has other characters. It is empty for those without a token.
	Name string

	patterns []provider.Pattern
	// link reports that the caller has a signed link to an archive. The hash of the address
	// that the archive is stored as is stored.
	link   bool
	stored addressHash
}

// storedHash is the start of the SHA-256 of an address.
type addressHash [8]byte

func hashOf(a provider.Address) addressHash {
	sum := sha256.Sum256([]byte(a.ASCII()))
	return addressHash(sum[:len(addressHash{})])
}

// May reports whether the caller may read releases that are stored as an address. The zero
// address stands for releases whose address is unknown, which only callers who may read
// everything (*/*/*) may read.
func (c Caller) MayRead(a provider.Address) bool {
	if c.link {
		return hashOf(a) == c.stored
	}
	return slices.ContainsFunc(c.patterns, func(p provider.Pattern) bool { return p.Match(a) })
}

// nameOf makes a caller's name of any text. Texts that differ have names that do.
func callerName(text string) string {
	name := []byte(text)
	changed := len(name) > maxName
	for i, c := range name {
		if c <= ' ' || c >= '~' { // a ~ is before a hash only, so that no text has another's name
			name[i], changed = '?', true
		}
	}
	if !changed {
		return text
	}
	digest := sha256.Sum256([]byte(text))
	end := "~" + hex.EncodeToString(digest[:12])
	return string(name[:min(len(name), maxName-len(end))]) + end
}
