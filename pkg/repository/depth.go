package repository

import (
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Depth is the check level. It specifies how thoroughly [Inspect] inspects a tag, and
// how thoroughly an existing release is checked before it is reported as unchanged.
type Depth int

// The depths. Each depth also detects the problems that the preceding depths detect.
const (
	// DepthTags reads only the tag list. It doesn't detect missing indexes, tags of
	// other providers, or platforms that were added or requested after the tag was
	// written.
	DepthTags Depth = iota + 1
	// DepthIndex reads the index that the tag points to. It doesn't detect missing
	// manifests and blobs.
	DepthIndex
	// DepthManifests reads the manifests for the platforms. It doesn't detect missing
	// blobs.
	DepthManifests
	// DepthBlobs checks that every blob in the manifests exists and has the right size.
	// It doesn't detect silent corruption.
	DepthBlobs
	// DepthContent reads every blob and verifies its digest, to detect silent corruption
	// in registries and on disks.
	DepthContent
)

// depths lists the names of the depths in order.
var depths = []string{"tags", "index", "manifests", "blobs", "deep"}

// String returns the name that [ParseDepth] parses.
func (d Depth) String() string { return depths[d-DepthTags] }

// ParseDepth parses the name of a depth. If the name is invalid, it returns a
// *[provider.SyntaxError].
func ParseDepth(s string) (Depth, error) {
	at := slices.Index(depths, s)
	if at < 0 {
		return 0, &provider.SyntaxError{What: "check level", Input: s, Problem: "must be one of " + strings.Join(depths, ", ")}
	}
	return DepthTags + Depth(at), nil
}
