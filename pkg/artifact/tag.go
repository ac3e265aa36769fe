package artifact

import (
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Tag gives the tag of a version: OCI tags have no "+", so OpenTofu writes "_".
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

// Versions gives the versions that tags name, newest first, each once. Other tags are
// passed over, as OpenTofu does.
func Versions(tags []string) []provider.Version {
	var versions []provider.Version
	for _, tag := range tags {
		if v, ok := ParseTag(tag); ok {
			versions = append(versions, v)
		}
	}
	return provider.NewestFirst(versions)
}
