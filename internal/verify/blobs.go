package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/finding"
	"github.com/tofu-oci/tofu-oci/internal/packagezip"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// lostBlob is a blob that is missing or damaged.
type lostBlob struct {
	ocispec.Descriptor
	// platforms lists the platforms that need the blob.
	platforms []provider.Platform
}

// blobs adds a finding for each missing or damaged blob.
func (a *verification) blobs(ctx context.Context, found repository.Inspection) error {
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

// lost adds a finding about a missing or damaged blob.
func (a *verification) lost(ctx context.Context, b *lostBlob) error {
	s := a.about(provider.Platform{})
	if len(b.platforms) == 1 {
		s.platform = b.platforms[0]
	}
	name := blobName(b.Descriptor)
	size, err := a.repo.Stat(ctx, b.Descriptor)
	switch {
	case err != nil && isDamage(err):
		s.addError("blob-damaged", fmt.Sprintf("%s does not match its digest.", name), a.mirror(""))
	case errors.Is(err, repository.ErrNotFound) || errors.Is(err, repository.ErrNoRepository):
		s.addError("blob-missing", fmt.Sprintf("%s is missing.", name), a.mirror(""))
	case err != nil:
		return err
	case size != b.Size:
		s.addError("blob-size", fmt.Sprintf("%s is %d bytes long, but its manifest specifies %d bytes.", name, size, b.Size), a.mirror(" --force"))
	default:
		s.addError("blob-damaged", fmt.Sprintf("%s does not match its digest.", name), a.mirror(" --check-level deep"))
	}
	return nil
}

// blobName returns the start of a sentence about a blob.
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

// annotations checks the annotations of the index.
func (a *verification) annotations(ctx context.Context, found repository.Inspection) error {
	s := a.about(provider.Platform{})
	if stated, err := provider.ParseVersion(found.Index.Annotations[ocispec.AnnotationVersion]); err == nil && stated != a.version {
		s.addError("annotation-version", fmt.Sprintf("The index is annotated with version %s, but its tag is for version %s.", stated, a.version), a.rebuild())
	}
	stated := found.Index.Protocols()
	if sorted := provider.SortProtocols(stated); strings.Join(sorted, ",") != strings.Join(stated, ",") {
		s.addWarning("annotation-protocols", fmt.Sprintf("The annotated plugin protocols %q are not a sorted list of versions.", stated), a.rebuild())
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

// packageAnnotations adds findings if the hash annotations of a package don't match its
// zip.
func (a *verification) packageAnnotations(ctx context.Context, f repository.InspectedPackage) error {
	s, zip := a.about(f.Target.Platform), f.Manifest.Zip.Digest
	if stated, is := f.Target.StatedZH(); is {
		if d, err := sums.ParseZH(stated); err != nil || d != zip {
			s.addError("annotation-zh", fmt.Sprintf("The annotation zh is %q, but the digest of the zip is %s.", clip(stated), zip), a.rebuild())
		}
	}
	stated, is := f.Target.StatedH1()
	if _, err := sums.ParseH1(stated); is && err != nil {
		s.addError("annotation-h1", fmt.Sprintf("The annotation h1 is not a valid hash: %q.", clip(stated)), a.rebuild())
		return nil //nolint:nilerr // the error was added as a finding
	}
	if isLost(f, zip) {
		return nil
	}
	hashed, read, err := a.hashes.of(ctx, f.Manifest.Zip)
	switch {
	case !read || err != nil:
	case hashed.err != nil:
		s.addError("zip-refused", fmt.Sprintf("The zip matches its digest, but tofu-oci refuses to unpack it: %v.", hashed.err), finding.Remedy{Hint: "report the problem to the author"})
	default:
		if is && hashed.VerifyH1("", stated) != nil {
			s.addError("annotation-h1", fmt.Sprintf("The annotation h1 is %s, but the hash of the zip is %s.", stated, hashed.H1), a.rebuild())
		}
		if unpacked, is := f.Target.StatedH1Unpacked(); is && unpacked != hashed.H1Unpacked {
			s.addError("annotation-h1", fmt.Sprintf("The annotation h1-unpacked is %q, but the hash of the unpacked zip is %s.", clip(unpacked), hashed.H1Unpacked), a.rebuild())
		}
		if known, is := f.Target.H1(), f.Target.H1Unpacked() != ""; known != "" && !is && hashed.Directories {
			s.addWarning("annotation-h1", "The zip has directory entries, so clients compute a different hash after unpacking it, but the annotation h1-unpacked is missing.", a.rebuild())
		}
		a.mode(s, hashed.Contents)
	}
	return err
}

// mode adds a finding if OpenTofu can't start the executable because of its mode.
func (a *verification) mode(s reporter, contents packagezip.Contents) {
	if a.address.IsModule() {
		return
	}
	if problem := contents.ModeProblem(a.address.Type, s.platform); problem != "" {
		s.addError("executable-mode", fmt.Sprintf("The zip can be installed, but not started: %s.", problem), finding.Remedy{Hint: "ask the author to create the zip on a Unix system; if the release is your own, publish a new version; until then, use exec or pull --layout unpacked, which set the missing file mode"})
	}
}

// clip truncates a string from another source.
func clip(s string) string {
	const most = 100
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
