package lockfile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Selection is the entry for a provider in a lock file.
type Selection struct {
	Address provider.Address
	Version provider.Version
	// Constraints contains the configuration's constraints that the selected version
	// meets. It can be zero.
	Constraints provider.Constraint
	// Hashes contains the sorted hashes, without duplicates. It can be empty.
	Hashes []Hash
	// Line is the line number of the block in the parsed file. It is used in messages.
	Line int
	// Predecessor is the provider that the file locks instead of Address, or the zero
	// value if the file locks Address. See [File.SelectionsForOpenTofu].
	Predecessor provider.Address
}

// normal returns the normalized selection.
func (s Selection) normal() Selection {
	s.Hashes = slices.Compact(slices.Sorted(slices.Values(s.Hashes)))
	if c, err := provider.ParseConstraint(FormatConstraints(s.Constraints)); err == nil {
		s.Constraints = c
	}
	return s
}

// clone returns a copy with a separate slice of hashes.
func (s Selection) clone() Selection {
	s.Hashes = slices.Clone(s.Hashes)
	return s
}

// equal reports whether two selections of a provider are equal, ignoring their lines.
// Both must be normalized.
func (s Selection) equal(o Selection) bool {
	return s.Version == o.Version && s.Constraints.String() == o.Constraints.String() && slices.Equal(s.Hashes, o.Hashes)
}

// Hash is a package hash in a lock file. It is "h1:…" for the contents, "zh:…" for the
// zip, or has a scheme that a future OpenTofu version defines.
type Hash string

// ParseHash parses a hash as OpenTofu does: a scheme, a colon, and any text.
func ParseHash(s string) (Hash, error) {
	if strings.Index(s, ":") < 1 {
		return "", fmt.Errorf("invalid hash %q: must start with a scheme and a colon, such as \"h1:\" or \"zh:\"", s)
	}
	return Hash(s), nil
}

// Scheme returns the text before the first colon, such as "h1" or "zh".
func (h Hash) Scheme() string {
	scheme, _, _ := strings.Cut(string(h), ":")
	return scheme
}

// IsH1 reports whether the hash is a hash of the contents.
func (h Hash) IsH1() bool { return h.Scheme() == "h1" }

// IsZH reports whether the hash is a hash of the zip.
func (h Hash) IsZH() bool { return h.Scheme() == "zh" }

// String returns the provider block with a line ending.
func (s Selection) String() string { return format(s.normal(), nil, "\n") + "\n" }
