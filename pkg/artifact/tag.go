package artifact

import (
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Tag returns the tag of a version: OCI tags have no "+", so OpenTofu writes "_".
func Tag(v provider.Version) string {
	return strings.ReplaceAll(v.String(), "+", "_")
}

// ParseTag reads a tag back. It knows only tags that [Tag] writes: OpenTofu
// also takes "1.2" for a version, but then looks for "1.2.0" and finds nothing.
func ParseTag(tag string) (provider.Version, bool) {
	v, err := provider.ParseVersion(strings.ReplaceAll(tag, "_", "+"))
	if err != nil || Tag(v) != tag {
		return provider.Version{}, false
	}
	return v, true
}

// pendingPrefix begins the tag of a release that waits for approval. No version begins
// with a letter, so OpenTofu passes such tags over.
const pendingPrefix = "pending-"

// PendingTag is the tag under which a version waits for approval: "pending-" and its
// [Tag].
func PendingTag(v provider.Version) string { return pendingPrefix + Tag(v) }

// ParsePending reads a tag back that [PendingTag] wrote, and no other.
func ParsePending(tag string) (provider.Version, bool) { return parsePrefixed(tag, pendingPrefix) }

func parsePrefixed(tag, prefix string) (provider.Version, bool) {
	rest, prefixed := strings.CutPrefix(tag, prefix)
	if !prefixed {
		return provider.Version{}, false
	}
	return ParseTag(rest)
}

// Versions returns the released versions of a list of tags, newest first: those that
// have a tag and are not denied.
func Versions(tags []string) []provider.Version { return withoutDenied(TaggedVersions(tags), tags) }

// UndecidedVersions returns the pending versions that are not denied, newest first.
func UndecidedVersions(tags []string) []provider.Version {
	return withoutDenied(PendingVersions(tags), tags)
}

func withoutDenied(versions []provider.Version, tags []string) []provider.Version {
	denied := map[provider.Version]bool{}
	for _, v := range DeniedVersions(tags) {
		denied[v] = true
	}
	return slices.DeleteFunc(versions, func(v provider.Version) bool { return denied[v] })
}

// Newest returns the versions whose releases show which provider a repository holds,
// newest first, and the function that returns their tags: the released versions, denied
// ones included, or the pending versions if there are none.
func Newest(tags []string) (versions []provider.Version, tag func(provider.Version) string) {
	if versions = TaggedVersions(tags); len(versions) > 0 {
		return versions, Tag
	}
	return PendingVersions(tags), PendingTag
}

// TaggedVersions returns the versions that OpenTofu sees in a list of tags, newest
// first, denied or not.
func TaggedVersions(tags []string) []provider.Version { return versionsOf(tags, ParseTag) }

// DeniedVersions returns the denied versions, newest first. The tag of a denial denies
// its version whatever it points to.
func DeniedVersions(tags []string) []provider.Version { return versionsOf(tags, ParseDenied) }

// PendingVersions returns the versions that wait for approval, newest first.
func PendingVersions(tags []string) []provider.Version { return versionsOf(tags, ParsePending) }

func versionsOf(tags []string, parse func(string) (provider.Version, bool)) []provider.Version {
	var versions []provider.Version
	for _, tag := range tags {
		if v, ok := parse(tag); ok {
			versions = append(versions, v)
		}
	}
	return provider.NewestFirst(versions)
}
