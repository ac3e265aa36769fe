package lockfile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Selection is what a lock file says of one provider.
type Selection struct {
	Address provider.Address
	Version provider.Version
	// Constraints are those of the configuration when the version was chosen. They
	// may be zero.
	Constraints provider.Constraint
	// Hashes are sorted, each once. There may be none.
	Hashes []Hash
	// Line is that of its block in the file that was read, for messages.
	Line int
}

// normal returns the selection as a lock file states it.
func (s Selection) normal() Selection {
	s.Hashes = slices.Compact(slices.Sorted(slices.Values(s.Hashes)))
	if c, err := provider.ParseConstraint(FormatConstraints(s.Constraints)); err == nil {
		s.Constraints = c
	}
	return s
}

// clone lets the caller have hashes of his own.
func (s Selection) clone() Selection {
	s.Hashes = slices.Clone(s.Hashes)
	return s
}

// says reports whether two selections of a provider, both normal, state the same.
func (s Selection) says(o Selection) bool {
	return s.Version == o.Version && s.Constraints.String() == o.Constraints.String() && slices.Equal(s.Hashes, o.Hashes)
}

// Hash is a hash of a package as a lock file has it: "h1:…" of its contents,
// "zh:…" of its zip, or of a scheme that a later OpenTofu may know.
type Hash string

// ParseHash reads a hash as OpenTofu does: a scheme, a colon, and anything.
func ParseHash(s string) (Hash, error) {
	if strings.Index(s, ":") < 1 {
		return "", fmt.Errorf("hash %q: must begin with a scheme and a colon, such as \"h1:\" or \"zh:\"", s)
	}
	return Hash(s), nil
}

// Scheme returns what stands before the first colon: "h1" or "zh", mostly.
func (h Hash) Scheme() string {
	scheme, _, _ := strings.Cut(string(h), ":")
	return scheme
}

// IsH1 tells a hash of contents.
func (h Hash) IsH1() bool { return h.Scheme() == "h1" }

// IsZH tells a hash of a zip.
func (h Hash) IsZH() bool { return h.Scheme() == "zh" }

// String returns the provider's block as a lock file has it, with its last line's end.
func (s Selection) String() string { return format(s.normal(), nil, "\n") + "\n" }
