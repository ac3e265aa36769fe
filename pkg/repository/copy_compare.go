package repository

import (
	"fmt"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Difference is what becomes of a tag if it is moved to another release: what a copy, and
// a promotion, goes by. Releases are the same when their zips are: evidence, annotations
// and the like don't count, and are not to get lost.
type Difference struct {
	// Conflicts are platforms that have different zips, or several ones.
	Conflicts []string
	// Gains tells of platforms that the tag lacks, or has lost or damaged, and Repairs of
	// the latter alone.
	Gains, Repairs bool
	// Documents tells that the release has documents, by their names, that the tag lacks.
	Documents bool
	// Loses is what the tag holds and the release lacks.
	Loses []string
}

// Compare says how a release differs from what a tag holds.
func Compare(release, held Inspection) Difference {
	d := Difference{Gains: held.Dangling, Repairs: held.Dangling}
	for platform, was := range held.Platforms {
		is, both := release.Platforms[platform]
		switch {
		case was.Target.Duplicate:
			d.Conflicts = append(d.Conflicts, was.Err.Error())
			continue
		case !both:
			d.Loses = append(d.Loses, fmt.Sprintf("%s is there, and the source does not have it", platform))
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
			d.Loses = append(d.Loses, fmt.Sprintf("%s is there for %s, and the source does not have it", name, platform))
		}
		d.Documents = d.Documents || len(is.documentsMissingIn(was)) > 0
	}
	for platform := range release.Platforms {
		_, both := held.Platforms[platform]
		d.Gains = d.Gains || !both
	}
	return d
}

// Reasons say why the tag can't be moved without a loss, sorted; none when it can.
func (d Difference) Reasons() []string {
	return slices.Sorted(slices.Values(slices.Concat(d.Conflicts, d.Loses)))
}

// keeps reports whether a copy would gain nothing, or lose something for a few documents.
func (d Difference) isKept() bool { return !d.Gains && (!d.Documents || len(d.Loses) > 0) }

// ConflictWith says why what is there can't become a package with another zip; empty if
// the zip is the same, or that of what is there is not known.
func (f InspectedPackage) ConflictWith(zip digest.Digest) string {
	was, known := f.Manifest.Zip.Digest, f.Err == nil
	if !known {
		was, known = f.Target.Digest()
	}
	if !known || was == zip {
		return ""
	}
	return fmt.Sprintf("%s is there with the zip %s, the source has %s", f.Target.Platform, was, zip)
}

// documentsMissingIn names the documents of the package that another has none of by the
// name, in the order of its manifest.
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
