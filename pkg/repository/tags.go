package repository

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// maxTagLength is the maximum length of a tag.
const maxTagLength = 128

// isValidTag reports whether a name is a valid tag. See
// https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#pulling-manifests.
func isValidTag(name string) bool {
	isOther := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._-", r)
	}
	return name != "" && len(name) <= maxTagLength && name[0] != '.' && name[0] != '-' && !strings.ContainsFunc(name, isOther)
}

// validTags returns the names in a list that are valid tags. Some registries also list
// digests or names such as "-beta", but reject requests for them, and some tools write
// references into image layouts. validTags reports the names that it omits.
func validTags(list string, names []string, progress provider.Progress) []string {
	var invalid []string
	tags := slices.DeleteFunc(names, func(name string) bool {
		if isValidTag(name) {
			return false
		}
		invalid = append(invalid, name)
		return true
	})
	if len(invalid) > 0 && progress.Omit != nil {
		progress.Omit(list, fmt.Errorf("names that are not valid tags: %d, such as %q", len(invalid), fmt.Sprintf("%.*s", maxTagLength, invalid[0])))
	}
	return tags
}
