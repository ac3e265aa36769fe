package repository

import (
	"fmt"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Difference describes how a release differs from the release that a tag points to.
// Copy and promotion use it to decide whether to move the tag. Two releases with the
// same zips are the same release. Documents and annotations don't make releases
// different, but must not be lost.
type Difference struct {
	// Conflicts describes platforms with different zips, or with more than one zip.
	Conflicts []string
	// Repairs reports whether the release restores lost or damaged platforms. Gains
	// reports whether the release restores or adds platforms.
	Gains, Repairs bool
	// Documents reports whether the release has documents with names that are missing
	// from the tagged release.
	Documents bool
	// Loses describes content that only the tagged release has.
	Loses []string
}

// Compare returns the difference between a release and the release that a tag points to.
func Compare(release, tagged Inspection) Difference {
	d := Difference{Gains: tagged.Dangling, Repairs: tagged.Dangling}
	for platform, was := range tagged.Platforms {
		is, both := release.Platforms[platform]
		switch {
		case was.Target.Duplicate:
			d.Conflicts = append(d.Conflicts, was.Err.Error())
			continue
		case !both:
			d.Loses = append(d.Loses, fmt.Sprintf("%s exists in the target but not in the source", platform))
			continue
		}
		if conflict := was.ConflictWith(is.Manifest.Zip.Digest); conflict != "" {
			d.Conflicts = append(d.Conflicts, conflict)
		}
		if was.Err != nil {
			d.Gains, d.Repairs = true, true
			continue
		}
		for _, name := range was.documentsMissingIn(is) {
			d.Loses = append(d.Loses, fmt.Sprintf("%s for %s exists in the target but not in the source", name, platform))
		}
		d.Documents = d.Documents || len(is.documentsMissingIn(was)) > 0
	}
	for platform := range release.Platforms {
		_, both := tagged.Platforms[platform]
		d.Gains = d.Gains || !both
	}
	return d
}

// Reasons returns the sorted reasons the tag must not be moved. The result is empty if
// the tag can be moved.
func (d Difference) Reasons() []string {
	return slices.Sorted(slices.Values(slices.Concat(d.Conflicts, d.Loses)))
}

// isKept reports whether Copy keeps the existing index, because the release adds no
// content, or adds only documents but lacks existing content.
func (d Difference) isKept() bool { return !d.Gains && (!d.Documents || len(d.Loses) > 0) }

// ConflictWith returns the reason a zip conflicts with the stored package. It returns
// an empty string if the stored zip is the same or unknown.
func (f InspectedPackage) ConflictWith(zip digest.Digest) string {
	was, known := f.Manifest.Zip.Digest, f.Err == nil
	if !known {
		was, known = f.Target.Digest()
	}
	if !known || was == zip {
		return ""
	}
	return fmt.Sprintf("%s has zip %s, but the source has %s", f.Target.Platform, was, zip)
}

// documentsMissingIn returns the names of documents that the other package doesn't
// have, in the order of the manifest.
func (f InspectedPackage) documentsMissingIn(other InspectedPackage) []string {
	var names []string
	for _, d := range f.Manifest.Documents {
		name := d.Annotations[ocispec.AnnotationTitle]
		if !slices.ContainsFunc(other.Manifest.Documents, func(o ocispec.Descriptor) bool { return o.Annotations[ocispec.AnnotationTitle] == name }) {
			names = append(names, name)
		}
	}
	return names
}
