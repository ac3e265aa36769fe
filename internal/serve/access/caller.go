package access

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// maxName limits the length of a caller's name in bytes, because links contain the name.
const maxName = 96

// Caller is the sender of a request. The zero value can't read anything.
type Caller struct {
	// Name is the name of the token or oidc block, such as "ci". If an issuer signed
	// the token, the name is followed by ":" and the subject, as in
	// "github:repo:acme/rocket:ref:refs/heads/main". Name contains only printable ASCII
	// characters and is at most 96 bytes long. If the subject is longer or contains
	// different characters, Name ends in "~" and a hash. Name is empty for callers
	// without a token.
	Name string

	grant
	// link reports whether the caller has a signed link to an archive. If it is set,
	// stored is the hash of the address under which the archive is stored.
	link   bool
	stored addressHash
}

// addressHash is the start of an address's SHA-256.
type addressHash [8]byte

func hashOf(a provider.Address) addressHash {
	sum := sha256.Sum256([]byte(a.ASCII()))
	return addressHash(sum[:len(addressHash{})])
}

// grant contains the patterns of readable providers and modules.
type grant struct {
	providers []provider.Pattern
	modules   []provider.ModulePattern
}

// with returns a grant that contains the patterns of both grants.
func (g grant) with(other grant) grant {
	return grant{slices.Concat(g.providers, other.providers), slices.Concat(g.modules, other.modules)}
}

func (g grant) isEmpty() bool { return len(g.providers)+len(g.modules) == 0 }

// MayRead reports whether the caller can read releases that are stored under the
// address of a provider or of a module in a registry. An address without a host
// represents releases with an unknown address. To read these releases, a caller needs
// access to all providers (*/*/*) or all modules (*/*/*/*).
func (c Caller) MayRead(a provider.Address) bool {
	switch {
	case c.link:
		return hashOf(a) == c.stored
	case a.IsRegistryModule():
		return slices.ContainsFunc(c.modules, func(p provider.ModulePattern) bool { return p.Match(a.ASCII()) })
	}
	return slices.ContainsFunc(c.providers, func(p provider.Pattern) bool { return p.Match(a) })
}

// callerName converts text to a caller's name. Different strings always have different
// names.
func callerName(text string) string {
	name := []byte(text)
	changed := len(name) > maxName
	for i, c := range name {
		if c <= ' ' || c >= '~' { // ~ occurs only before a hash, so names are unique
			name[i], changed = '?', true
		}
	}
	if !changed {
		return text
	}
	digest := sha256.Sum256([]byte(text))
	suffix := "~" + hex.EncodeToString(digest[:12])
	return string(name[:min(len(name), maxName-len(suffix))]) + suffix
}
