package approval

import (
	"fmt"
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// compare says what it means for a version to become what waits, by the tag alone:
// what the version holds has to be there too. The reasons are those why it can't be,
// none when it can. Sameness is the map from platform to zip, as everywhere.
func compare(waiting, standing repository.Inspection) (Status, []string) {
	switch {
	case !standing.Exists() || standing.Lost:
		return Promoted, nil
	case standing.Digest == waiting.Digest:
		return Unchanged, nil
	case standing.Format != nil:
		return Replaced, []string{(&repository.ForeignError{Tag: standing.Tag, Format: standing.Format}).Error()}
	}
	var conflicts, lacking []string
	for _, platform := range standing.Index.Platforms() {
		conflict, lacks := compareOne(waiting, standing, platform)
		conflicts, lacking = append(conflicts, conflict...), append(lacking, lacks...)
	}
	switch {
	case len(conflicts) > 0:
		return Replaced, append(conflicts, lacking...)
	case !brings(waiting, standing):
		return Unchanged, nil // the version holds all that waits
	case len(lacking) > 0:
		return Replaced, lacking
	}
	return Extended, nil
}

// compareOne says what contradicts the package that a version has for a platform, and
// what of it the pending release lacks.
func compareOne(waiting, standing repository.Inspection, platform provider.Platform) (conflicts, lacking []string) {
	if waiting.Lacks(platform) {
		return nil, []string{fmt.Sprintf("%s is there, and the pending release does not have it", platform)}
	}
	is, was := waiting.At(platform), standing.At(platform)
	if was.Err != nil {
		return nil, nil // nothing of it can be used, so nothing is lost
	}
	if was.Manifest.Zip.Digest != is.Manifest.Zip.Digest {
		return []string{fmt.Sprintf("%s is there with the zip %s, the pending release has %s", platform, was.Manifest.Zip.Digest, is.Manifest.Zip.Digest)}, nil
	}
	for _, name := range was.DocumentsMissingIn(is) {
		lacking = append(lacking, fmt.Sprintf("%s has %q, which the pending release lacks", platform, name))
	}
	return nil, lacking
}

// brings tells whether a pending release has something that the version does not
// hold, or holds damaged.
func brings(waiting, standing repository.Inspection) bool {
	return slices.ContainsFunc(waiting.Index.Platforms(), func(platform provider.Platform) bool {
		is, was := waiting.At(platform), standing.At(platform)
		return standing.Lacks(platform) || was.Err != nil || len(is.DocumentsMissingIn(was)) > 0
	})
}
