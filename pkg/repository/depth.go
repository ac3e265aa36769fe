package repository

import (
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Depth is how far a tag is looked at: by [Inspect], and before a release that is there
// is called unchanged.
type Depth int

// The depths; each finds what those above it find, and misses what those below it find.
const (
	// DepthTags goes by the list of tags. It misses platforms that the source has
	// since then, or that are wanted now and were not, a lost index, and a tag of
	// another provider.
	DepthTags Depth = iota + 1
	// DepthIndex reads the index that the tag names. It misses manifests and blobs that
	// were lost.
	DepthIndex
	// DepthManifests reads the manifests of platforms. It misses lost blobs.
	DepthManifests
	// DepthBlobs asks whether every blob that they name is there, in its size. It misses
	// bytes that rotted without a trace.
	DepthBlobs
	// DepthContent reads every blob, and finds those with other bytes than their
	// digest says: registries and disks that rot.
	DepthContent
)

// depths are their names, from the first one on.
var depths = []string{"tags", "index", "manifests", "blobs", "deep"}

// String returns the name that [ParseDepth] reads.
func (d Depth) String() string { return depths[d-DepthTags] }

// ParseDepth reads a depth's name. Errors are *[provider.SyntaxError].
func ParseDepth(s string) (Depth, error) {
	at := slices.Index(depths, s)
	if at < 0 {
		return 0, &provider.SyntaxError{What: "level of checking", Input: s, Problem: "must be one of " + strings.Join(depths, ", ")}
	}
	return DepthTags + Depth(at), nil
}
