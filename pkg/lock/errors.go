package lock

import (
	"fmt"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// HashError says that a package is not one of those that are locked.
type HashError struct {
	Package provider.Package
	// Got are the package's hashes, as far as they are known.
	Got []lockfile.Hash
	// Locked are those of the lock file.
	Locked []lockfile.Hash
}

func (e *HashError) Error() string {
	what := fmt.Sprintf("%s %s for %s", e.Package.Address, e.Package.Version, e.Package.Platform)
	if len(e.Locked) == 0 {
		return fmt.Sprintf("%s can't be held against the lock file, which has no hashes of it", what)
	}
	return fmt.Sprintf("%s is not what the lock file has: it is %s, locked are %s", what, join(e.Got), join(e.Locked))
}

// maxHashes is how many hashes an error shows.
const maxHashes = 6

func join(hashes []lockfile.Hash) string {
	var shown []string
	for _, h := range hashes[:min(maxHashes, len(hashes))] {
		shown = append(shown, string(h))
	}
	if more := len(hashes) - len(shown); more > 0 {
		shown = append(shown, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(shown, ", ")
}

// DisagreeError says that a lock file and a source have no hash of a version in
// common: they mean other bytes.
type DisagreeError struct {
	Address provider.Address
	Version provider.Version
	// Got are the hashes that the source has, Locked those of the lock file.
	Got, Locked []lockfile.Hash
}

func (e *DisagreeError) Error() string {
	return fmt.Sprintf("%s %s is not what the lock file has: it is %s, locked are %s", e.Address, e.Version, join(e.Got), join(e.Locked))
}
