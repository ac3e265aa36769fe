package publish

import (
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// Check is how hard a release that is there is looked at, before it is called
// unchanged. The empty value is [CheckBlobs].
type Check string

// The levels; each finds what those above it find, and misses what those below it
// find.
const (
	// CheckTags asks for the list of tags. It misses platforms that the source has
	// since then, or that are wanted now and were not, a lost index, and a tag of
	// another provider. It is for sources whose releases are published whole: for
	// others, and with Recheck or Force, it is [CheckIndex].
	CheckTags Check = "tags"
	// CheckIndex reads the index. It misses manifests and blobs that were lost.
	CheckIndex Check = "index"
	// CheckManifests reads the platforms' manifests. It misses lost blobs.
	CheckManifests Check = "manifests"
	// CheckBlobs asks for every blob. It misses bytes that rotted without a trace.
	CheckBlobs Check = "blobs"
	// CheckDeep reads every blob, and misses nothing.
	CheckDeep Check = "deep"
)

// checks are all levels, and how deep they look.
var checks = []struct {
	check Check
	depth repository.Depth
}{
	{CheckTags, repository.DepthIndex}, {CheckIndex, repository.DepthIndex}, {CheckManifests, repository.DepthManifests},
	{CheckBlobs, repository.DepthBlobs}, {CheckDeep, repository.DepthContent},
}

// ParseCheck reads a level's name. Errors are *[provider.SyntaxError].
func ParseCheck(s string) (Check, error) {
	names := make([]string, 0, len(checks))
	for _, c := range checks {
		names = append(names, string(c.check))
	}
	if !slices.Contains(names, s) {
		return "", &provider.SyntaxError{What: "level of checking", Input: s, Problem: "must be one of " + strings.Join(names, ", ")}
	}
	return Check(s), nil
}

// Depth is how deep a level looks.
func (c Check) Depth() repository.Depth {
	for _, known := range checks {
		if known.check == c {
			return known.depth
		}
	}
	return repository.DepthBlobs
}
