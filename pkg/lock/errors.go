package lock

import (
	"fmt"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

var (
	// ErrIncomplete is returned if a version can't be selected, because a part of the
	// configuration that could not be read may exclude it.
	ErrIncomplete = provider.Errorf(provider.Refused, "not all requirements of the configuration are known")
	// ErrLocked is returned if the locked version does not meet the requirements.
	ErrLocked = provider.Errorf(provider.Conflict, "locked")
	// ErrNotLocked is returned if lock files select no version of a provider, or another one.
	ErrNotLocked = provider.Errorf(provider.NotFound, "not in the lock file")
	// ErrNoFile is returned for a name that no lock file has.
	ErrNoFile = provider.Errorf(provider.NotFound, "no lock file")
)

// HashError says that a package is not one of those that are locked, or that no
// package of a version is.
type HashError struct {
	Address provider.Address
	Version provider.Version
	// Platform is the zero value where no package of the version is locked.
	Platform provider.Platform
	// Got are the hashes of what there is, as far as they are known.
	Got []lockfile.Hash
	// Locked are those of the lock file.
	Locked []lockfile.Hash
}

func (e *HashError) Error() string {
	what := fmt.Sprintf("%s %s", e.Address, e.Version)
	if e.Platform != (provider.Platform{}) {
		what += " for " + e.Platform.String()
	}
	return what + " " + e.problem()
}

// Kind returns [provider.Unverified].
func (e *HashError) Kind() provider.ErrorKind { return provider.Unverified }

// Within returns the text for a message that has named the release.
func (e *HashError) Within(a provider.Address, v provider.Version) string {
	if e.Address != a || e.Version != v {
		return e.Error()
	}
	if e.Platform != (provider.Platform{}) {
		return "the package for " + e.Platform.String() + " " + e.problem()
	}
	return "the release " + e.problem()
}

func (e *HashError) problem() string {
	if len(e.Locked) == 0 {
		return "can't be held against the lock file, which has no hashes of it"
	}
	return fmt.Sprintf("is not what the lock file has: it is %s, locked are %s", join(e.Got), join(e.Locked))
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
