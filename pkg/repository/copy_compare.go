package repository

import (
	"fmt"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// difference is what two releases under one tag have that the other has not. They are
// the same release when their zips are: evidence, annotations and the like don't
// count, and are not to get lost.
type difference struct {
	// conflicts are platforms that have different zips, or several ones.
	conflicts []string
	// platforms are those that the target lacks, or has lost or damaged; lost tells of
	// the latter alone.
	platforms, lost bool
	// documents are the source's that the target does not have, by their names.
	documents bool
	// less is what the target has and the source lacks.
	less []string
}

// compare holds what the target has under the tag against what is to be copied.
func compare(release, there Inspection) difference {
	d := difference{platforms: there.Lost, lost: there.Lost}
	for platform, was := range there.Platforms {
		is, both := release.Platforms[platform]
		switch {
		case was.Target.Twice:
			d.conflicts = append(d.conflicts, was.Err.Error())
		case !both:
			d.less = append(d.less, fmt.Sprintf("%s is there, and the source does not have it", platform))
		default:
			d = d.pair(platform, is, was)
		}
	}
	for platform := range release.Platforms {
		_, both := there.Platforms[platform]
		d.platforms = d.platforms || !both
	}
	return d
}

// pair adds what differs in one platform.
func (d difference) pair(platform provider.Platform, is, was Found) difference {
	if conflict := was.ConflictWith(is.Manifest.Zip.Digest); conflict != "" {
		d.conflicts = append(d.conflicts, conflict)
	}
	if was.Err != nil {
		d.platforms, d.lost = true, true
		return d
	}
	for _, name := range was.DocumentsMissingIn(is) {
		d.less = append(d.less, fmt.Sprintf("%s is there for %s, and the source does not have it", name, platform))
	}
	d.documents = d.documents || len(is.DocumentsMissingIn(was)) > 0
	return d
}

// DocumentsMissingIn names the documents of the package that another has none of by the
// name, in the order of its manifest.
func (f Found) DocumentsMissingIn(other Found) []string {
	var names []string
	for _, d := range f.Manifest.Documents {
		name := d.Annotations[ocispec.AnnotationTitle]
		if !slices.ContainsFunc(other.Manifest.Documents, func(o ocispec.Descriptor) bool { return o.Annotations[ocispec.AnnotationTitle] == name }) {
			names = append(names, name)
		}
	}
	return names
}

// keeps tells whether the target has the release, and would gain nothing or lose
// something.
func (d difference) keeps() bool { return !d.platforms && (!d.documents || len(d.less) > 0) }

// refused says why the source can't take the target's place; nil when it can, or the
// target keeps what it has.
func (d difference) refused() []string {
	if d.keeps() && len(d.conflicts) == 0 {
		return nil
	}
	return slices.Sorted(slices.Values(slices.Concat(d.conflicts, d.less)))
}

// ConflictWith says why what is there can't become a package with another zip; empty if
// the zip is the same, or that of what is there is not known.
func (f Found) ConflictWith(zip digest.Digest) string {
	was, known := f.Manifest.Zip.Digest, f.Err == nil
	if !known {
		was, known = f.Target.Digest()
	}
	if !known || was == zip {
		return ""
	}
	return fmt.Sprintf("%s is there with the zip %s, the source has %s", f.Target.Platform, was, zip)
}
