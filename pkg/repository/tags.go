package repository

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// tagPattern matches tags. See
// https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#pulling-manifests.
var tagPattern = regexp.MustCompile(`^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$`)

// validTags returns the names in a list that are valid tags. Some registries also list
// digests or names such as "-beta", but reject requests for them, and some tools write
// references into image layouts. validTags reports the names that it omits.
func validTags(list string, names []string, progress provider.Progress) []string {
	var invalid []string
	tags := slices.DeleteFunc(names, func(name string) bool {
		if tagPattern.MatchString(name) {
			return false
		}
		invalid = append(invalid, name)
		return true
	})
	if len(invalid) > 0 && progress.Omit != nil {
		progress.Omit(list, fmt.Errorf("names that are not valid tags: %d, such as %q", len(invalid), fmt.Sprintf("%.128s", invalid[0])))
	}
	return tags
}
