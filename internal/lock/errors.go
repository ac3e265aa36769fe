package lock

import (
	"fmt"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

var (
	// ErrIncomplete is returned if no version can be selected because an unreadable
	// part of the configuration could exclude any version.
	ErrIncomplete = provider.Errorf(provider.Refused, "some requirements of the configuration are unknown")
	// ErrLocked is returned if the locked version does not meet the requirements.
	ErrLocked = provider.Errorf(provider.Conflict, "locked")
	// ErrNotLocked is returned if no lock file selects the provider or the version.
	ErrNotLocked = provider.Errorf(provider.NotFound, "not in the lock file")
	// ErrNoFile is returned if no lock file is found.
	ErrNoFile = provider.Errorf(provider.NotFound, "no lock file")
)

// HashError reports that a package doesn't match the locked hashes. If Platform is the
// zero value, no package of the release matches.
type HashError struct {
	Address provider.Address
	Version provider.Version
	// Platform is the platform of the package, or the zero value for all packages.
	Platform provider.Platform
	// Got lists the known hashes of the package.
	Got []lockfile.Hash
	// Locked lists the hashes in the lock file.
	Locked []lockfile.Hash
}

func (e *HashError) Error() string {
	subject := fmt.Sprintf("%s %s", e.Address, e.Version)
	if e.Platform != (provider.Platform{}) {
		subject += " for " + e.Platform.String()
	}
	return subject + " " + e.problem()
}

// Kind returns [provider.Unverified].
func (e *HashError) Kind() provider.ErrorKind { return provider.Unverified }

// Within returns the error's text. If Address is a and Version is v, the text omits both.
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
		return "cannot be verified, because the lock file has no hashes for it"
	}
	return fmt.Sprintf("does not match the lock file: got %s, want %s", join(e.Got), join(e.Locked))
}

// maxHashes is the maximum number of hashes in an error message.
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
