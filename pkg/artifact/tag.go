package artifact

import (
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Tag returns the tag of a version. Because OCI tags can't contain "+", Tag replaces it
// with "_", as OpenTofu does.
func Tag(v provider.Version) string {
	return strings.ReplaceAll(v.String(), "+", "_")
}

// ParseTag reverses [Tag]. For a tag that Tag does not return, it returns false. One
// such tag is "1.2", which OpenTofu accepts as a version but requests as "1.2.0".
func ParseTag(tag string) (provider.Version, bool) {
	v, err := provider.ParseVersion(strings.ReplaceAll(tag, "_", "+"))
	if err != nil || Tag(v) != tag {
		return provider.Version{}, false
	}
	return v, true
}

// ModuleTagPrefix is the prefix that tags of module versions can have if other tools wrote
// them. OpenTofu has no rules for the tags of modules.
const ModuleTagPrefix = "v"

// LatestTag is the tag that OpenTofu requests if an oci:// module source has neither a tag
// nor a digest.
const LatestTag = "latest"

// ParseModuleTag is like [ParseTag], but also accepts a [ModuleTagPrefix].
func ParseModuleTag(tag string) (provider.Version, bool) {
	return ParseTag(strings.TrimPrefix(tag, ModuleTagPrefix))
}

// ModuleTag returns the tag of a module version in a list of tags. If the list contains
// no tag of the version, ModuleTag returns the result of [Tag], and ok is false.
func ModuleTag(tags []string, v provider.Version) (tag string, ok bool) {
	tag = Tag(v)
	switch {
	case slices.Contains(tags, tag):
		return tag, true
	case slices.Contains(tags, ModuleTagPrefix+tag):
		return ModuleTagPrefix + tag, true
	}
	return tag, false
}

// ModuleTags returns the tags of a module without their [ModuleTagPrefix]. If a version
// is tagged both with and without the prefix, the result contains it once.
func ModuleTags(tags []string) []string {
	var all []string
	for _, tag := range tags {
		v, isVersion := ParseModuleTag(tag)
		if isVersion && Tag(v) != tag {
			if slices.Contains(tags, Tag(v)) {
				continue
			}
			tag = Tag(v)
		}
		all = append(all, tag)
	}
	return all
}

// pendingPrefix is the prefix of pending releases' tags. Versions don't start with a
// letter, so OpenTofu ignores such tags.
const pendingPrefix = "pending-"

// PendingTag returns the tag of a pending release: "pending-" followed by the [Tag] of
// the version.
func PendingTag(v provider.Version) string { return pendingPrefix + Tag(v) }

// ParsePending reverses [PendingTag]. For any other tag, it returns false.
func ParsePending(tag string) (provider.Version, bool) { return parsePrefixed(tag, pendingPrefix) }

// probePrefix is the prefix of the tags that are written to find out what a registry
// supports. OpenTofu ignores such tags.
const probePrefix = "tofu-oci-probe-"

// ProbeTag returns the tag of an artifact that is pushed to find out what a registry
// supports and is then deleted. The name must be valid in a tag.
func ProbeTag(name string) string { return probePrefix + name }

// prunedPrefix is the prefix of pruned releases' tags. OpenTofu ignores such tags.
const prunedPrefix = "pruned-"

// PrunedTag returns the tag of a release that was pruned and can be restored: "pruned-"
// followed by the [Tag] of the version.
func PrunedTag(v provider.Version) string { return prunedPrefix + Tag(v) }

// ParsePruned reverses [PrunedTag]. For any other tag, it returns false.
func ParsePruned(tag string) (provider.Version, bool) { return parsePrefixed(tag, prunedPrefix) }

// VersionOf returns the version to which a tag belongs. The tag can be the version's
// own tag, or the tag of its pending release, its denial, or its pruned release.
func VersionOf(tag string) (provider.Version, bool) {
	for _, prefix := range []string{"", pendingPrefix, deniedPrefix, prunedPrefix} {
		if v, ok := parsePrefixed(tag, prefix); ok {
			return v, true
		}
	}
	return provider.Version{}, false
}

func parsePrefixed(tag, prefix string) (provider.Version, bool) {
	rest, prefixed := strings.CutPrefix(tag, prefix)
	if !prefixed {
		return provider.Version{}, false
	}
	return ParseTag(rest)
}

// Tags contains the tags of a repository. Its methods return versions, newest first.
type Tags []string

// Released returns the versions that have a tag and are not denied.
func (t Tags) Released() []provider.Version { return t.withoutDenied(t.Tagged()) }

// Undecided returns the pending versions that are not denied.
func (t Tags) Undecided() []provider.Version { return t.withoutDenied(t.Pending()) }

// Tagged returns the versions that OpenTofu finds, including denied versions.
func (t Tags) Tagged() []provider.Version { return t.versions("") }

// Denied returns the denied versions. A denial tag denies its version, regardless of
// the content that the tag points to.
func (t Tags) Denied() []provider.Version { return t.versions(deniedPrefix) }

// Pending returns the versions that are waiting for approval.
func (t Tags) Pending() []provider.Version { return t.versions(pendingPrefix) }

// Pruned returns the versions that were pruned and can be restored.
func (t Tags) Pruned() []provider.Version { return t.versions(prunedPrefix) }

// Newest returns the versions from which the repository's provider can be determined,
// and a function that returns the tags of these versions. If the repository has
// released versions, Newest returns these versions, including denied versions.
// Otherwise, it returns the pending versions. If the repository has no pending versions
// either, it returns the pruned versions.
func (t Tags) Newest() (versions []provider.Version, tag func(provider.Version) string) {
	if versions = t.Tagged(); len(versions) > 0 {
		return versions, Tag
	}
	if versions = t.Pending(); len(versions) > 0 {
		return versions, PendingTag
	}
	return t.Pruned(), PrunedTag
}

func (t Tags) withoutDenied(versions []provider.Version) []provider.Version {
	denied := t.Denied()
	return slices.DeleteFunc(versions, func(v provider.Version) bool { return slices.Contains(denied, v) })
}

func (t Tags) versions(prefix string) []provider.Version {
	var versions []provider.Version
	for _, tag := range t {
		if v, ok := parsePrefixed(tag, prefix); ok {
			versions = append(versions, v)
		}
	}
	return provider.NewestFirst(versions)
}
