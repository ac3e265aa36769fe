package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/finding"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// lostBlob is a blob that is missing or damaged.
type lostBlob struct {
	ocispec.Descriptor
	// platforms are those that need it.
	platforms []provider.Platform
}

// blobs tells which blobs are missing or damaged, each once.
func (a *audit) blobs(ctx context.Context, found repository.Inspection) error {
	var all []*lostBlob
	known := map[digest.Digest]*lostBlob{}
	for _, platform := range found.Index.Platforms() {
		f := found.Platforms[platform]
		for _, d := range f.Manifest.Blobs {
			if !isLost(f, d.Digest) {
				continue
			}
			b := known[d.Digest]
			if b == nil {
				b = &lostBlob{Descriptor: d}
				known[d.Digest], all = b, append(all, b)
			}
			if n := len(b.platforms); n == 0 || b.platforms[n-1] != platform {
				b.platforms = append(b.platforms, platform)
			}
		}
	}
	for _, b := range all {
		if err := a.lost(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

func isLost(f repository.InspectedPackage, d digest.Digest) bool {
	return slices.Contains(f.Missing, d)
}

// lost tells in which way a blob is.
func (a *audit) lost(ctx context.Context, b *lostBlob) error {
	s := a.at(provider.Platform{})
	if len(b.platforms) == 1 {
		s.platform = b.platforms[0]
	}
	name := blobName(b.Descriptor)
	size, err := a.repo.Stat(ctx, b.Digest)
	switch {
	case err != nil && isDamage(err):
		s.bad("blob-damaged", fmt.Sprintf("%s has other bytes than its digest says.", name), a.mirror(""))
	case errors.Is(err, repository.ErrNotFound) || errors.Is(err, repository.ErrNoRepository):
		s.bad("blob-missing", fmt.Sprintf("%s is missing.", name), a.mirror(""))
	case err != nil:
		return err
	case size != b.Size:
		s.bad("blob-size", fmt.Sprintf("%s has %d bytes, and not the %d that its manifest says.", name, size, b.Size), a.mirror(" --force"))
	default:
		s.bad("blob-damaged", fmt.Sprintf("%s has other bytes than its digest says.", name), a.mirror(" --check-level deep"))
	}
	return nil
}

// blobName begins a sentence about a blob.
func blobName(d ocispec.Descriptor) string {
	title := d.Annotations[ocispec.AnnotationTitle]
	switch {
	case d.MediaType == artifact.MediaTypeZip:
		return "The zip " + d.Digest.String()
	case provider.CheckFilename(title) == nil:
		return "The document " + title
	}
	return "The blob " + d.Digest.String()
}

// annotations holds what the index says of its content against that.
func (a *audit) annotations(ctx context.Context, found repository.Inspection) error {
	s := a.at(provider.Platform{})
	if stated, err := provider.ParseVersion(found.Index.Annotations[ocispec.AnnotationVersion]); err == nil && stated != a.version {
		s.bad("annotation-version", fmt.Sprintf("The index is annotated with version %s, and its tag says %s.", stated, a.version), a.again())
	}
	stated := found.Index.Protocols()
	if sorted := provider.SortProtocols(stated); strings.Join(sorted, ",") != strings.Join(stated, ",") {
		s.warn("annotation-protocols", fmt.Sprintf("The annotated plugin protocols %q are no sorted list of versions.", stated), a.again())
	}
	for _, platform := range found.Index.Platforms() {
		f := found.Platforms[platform]
		if f.Err != nil {
			continue
		}
		if err := a.packageAnnotations(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// packageAnnotations holds the hashes of a package against its zip.
func (a *audit) packageAnnotations(ctx context.Context, f repository.InspectedPackage) error {
	s, zip := a.at(f.Target.Platform), f.Manifest.Zip.Digest
	if stated, is := f.Target.StatedZH(); is {
		if d, err := sums.ParseZH(stated); err != nil || d != zip {
			s.bad("annotation-zh", fmt.Sprintf("The annotation zh is %q, and the zip has %s.", clip(stated), zip), a.again())
		}
	}
	stated, is := f.Target.StatedH1()
	if _, err := sums.ParseH1(stated); is && err != nil {
		s.bad("annotation-h1", fmt.Sprintf("The annotation h1 is no hash: %q.", clip(stated)), a.again())
		return nil //nolint:nilerr // it is a finding
	}
	if isLost(f, zip) {
		return nil
	}
	hashed, read, err := a.hashes.of(ctx, f.Manifest.Zip)
	switch {
	case !read || err != nil:
	case hashed.err != nil:
		s.bad("zip-refused", fmt.Sprintf("The zip has the bytes of its digest, and tofu-oci does not unpack it: %v.", hashed.err), finding.Remedy{Hint: "tell the author"})
	case is && hashed.h1 != stated:
		s.bad("annotation-h1", fmt.Sprintf("The annotation h1 is %s, and the zip has %s.", stated, hashed.h1), a.again())
	}
	return err
}

// clip keeps text of others short.
func clip(s string) string {
	const most = 100
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
