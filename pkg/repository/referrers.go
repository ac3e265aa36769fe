package repository

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// maxMerges is how often a list that other runs write at the same time is
// merged again.
const maxMerges = 20

// ErrNoReferrersList is GitLab's way: it resolves a tag "sha256-HEX" as that digest. A
// list of referrers that is written there takes the place of the artifact
// itself, so none is.
var ErrNoReferrersList = provider.Errorf(provider.Refused, "the registry resolves the referrers tag to the artifact itself, so it can hold no list of referrers")

// referrers is what refers to a manifest, by the referrers API where there is
// one, else by the referrers tag.
// https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#listing-referrers
type referrers struct {
	entries []ocispec.Descriptor
	// byAPI tells that the registry keeps the list itself.
	byAPI bool
	// list is what is under the referrers tag; the zero value when nothing is.
	list artifact.Blob
}

// readReferrers lists what refers to a manifest.
func readReferrers(ctx context.Context, repo Reader, subject digest.Digest) (referrers, error) {
	if ask := repo.Traits().Referrers; ask != nil {
		entries, supported, err := ask(ctx, subject)
		if supported || err != nil {
			return referrers{entries: entries, byAPI: true}, err
		}
	}
	d, data, err := repo.Manifest(ctx, artifact.ReferrersTag(subject))
	if there, err := exists(err); !there {
		return referrers{}, err
	}
	if d.Digest == subject {
		return referrers{}, ErrNoReferrersList
	}
	entries, err := artifact.ParseReferrers(data)
	list := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageIndex, Digest: d.Digest, Size: int64(len(data))}
	return referrers{entries: entries, list: artifact.Blob{Descriptor: list, Bytes: data}}, err
}

// maxDocuments bounds the referrers of one manifest. A release has a few.
const maxDocuments = 100

// Documents reads what is attached to a manifest: SBOMs, provenance and the
// like, sorted by name: registries list them in any order. Referrers that are
// something else, such as signatures of the artifact itself and denials, are left
// out, and so are those that a clean-up job took away, and a repository's inability
// to list any: none of them makes the manifest itself less than it is.
func Documents(ctx context.Context, repo Reader, subject digest.Digest) ([]provider.Document, error) {
	documents, _, err := readDocuments(ctx, repo, subject)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(documents, func(a, b provider.Document) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.MediaType, b.MediaType))
	})
	return documents, nil
}

// CheckReferrers finds what [Documents] passes over: a list of referrers that is
// none, and documents on it that are not there, or not as the list says. A
// repository that can hold no list has none. The second error is that of a
// repository that did not answer.
func CheckReferrers(ctx context.Context, repo Reader, subject digest.Digest) (lost []error, err error) {
	documents, lost, err := readDocuments(ctx, repo, subject)
	for _, d := range documents {
		there, err := hasBlob(ctx, repo, ocispec.Descriptor{Digest: d.Digest, Size: d.Size})
		if err != nil {
			return lost, err
		}
		if !there {
			lost = append(lost, fmt.Errorf("the document %s is missing or damaged: %w", d.Name, ErrNotFound))
		}
	}
	return lost, err
}

// readDocuments describes the documents that are attached to a manifest, in the
// order of the list, and says why others on it cannot be read.
func readDocuments(ctx context.Context, repo Reader, subject digest.Digest) (documents []provider.Document, lost []error, err error) {
	known, err := readReferrers(ctx, repo, subject)
	switch {
	case errors.Is(err, ErrNoReferrersList):
		return nil, nil, nil
	case isFormat(err):
		return nil, []error{err}, nil
	case err != nil:
		return nil, nil, fmt.Errorf("listing the referrers of %s: %w", subject, err)
	case len(known.entries) > maxDocuments:
		return nil, nil, fmt.Errorf("listing the referrers of %s: there are %d, more than the %d that are read", subject, len(known.entries), maxDocuments)
	}
	for _, d := range known.entries {
		name := d.Annotations[ocispec.AnnotationTitle]
		if provider.CheckFilename(name) != nil || d.Digest.Validate() != nil || d.ArtifactType == artifact.TypeDenial {
			continue // something else, such as a signature of the artifact itself
		}
		var layer ocispec.Descriptor
		_, data, err := repo.Manifest(ctx, d.Digest.String())
		if err == nil {
			layer, err = artifact.ParseReferrer(data)
		}
		switch {
		case isFormat(err) || errors.Is(err, ErrNotFound):
			lost = append(lost, fmt.Errorf("the referrer %s: %w", name, err))
			continue
		case err != nil:
			return nil, nil, fmt.Errorf("reading the referrer %s: %w", name, err)
		}
		layer.MediaType, layer.Annotations = d.ArtifactType, d.Annotations
		document := DocumentAt(repo, layer, "")
		document.Scope = provider.ScopeRelease
		documents = append(documents, document)
	}
	return documents, lost, nil
}

func isFormat(err error) bool {
	_, is := errors.AsType[*artifact.FormatError](err)
	return is
}

// DocumentAt describes the document that a layer is; it is read where it lies.
// sumsName is what a SHA256SUMS layer without a title is called.
func DocumentAt(repo Reader, layer ocispec.Descriptor, sumsName string) provider.Document {
	document := artifact.DocumentOf(layer, sumsName)
	document.Content = func(ctx context.Context) (io.ReadCloser, error) {
		body, err := Verified(ctx, repo, layer, document.Name)
		if err != nil {
			return nil, fmt.Errorf("fetching %s: %w", document.Name, err)
		}
		return body, nil
	}
	return document
}

// Attach stores documents about the manifest that subject describes, and gives
// the names of those that were not there. The same document is not attached
// twice, nor another one of the same name and type beside it.
func Attach(ctx context.Context, repo Repository, documents []provider.Document, subject ocispec.Descriptor) (attached []string, err error) {
	if len(documents) == 0 {
		return nil, nil
	}
	// 1. What refers to the manifest already.
	known, err := readReferrers(ctx, repo, subject.Digest)
	if err != nil {
		return nil, fmt.Errorf("attaching %s: %w", documents[0].Name, err)
	}
	// 2. The documents that do not.
	var entries []ocispec.Descriptor
	for _, document := range documents {
		entry, isNew, err := store(ctx, repo, document, subject, known)
		if err != nil {
			return nil, fmt.Errorf("attaching %s: %w", document.Name, err)
		}
		if isNew {
			entries = append(entries, entry)
			attached = append(attached, document.Name)
		}
	}
	// 3. The list of them.
	if known.byAPI || len(entries) == 0 {
		return attached, nil
	}
	list := referrersList{repo: repo, subject: subject.Digest}
	if err := list.add(ctx, entries, known); err != nil {
		return nil, fmt.Errorf("attaching %s: %w", documents[0].Name, err)
	}
	return attached, nil
}

// store pushes a document and its manifest, unless one like it is listed and
// there.
func store(ctx context.Context, repo Repository, document provider.Document, subject ocispec.Descriptor, known referrers) (entry ocispec.Descriptor, isNew bool, err error) {
	referrer, err := artifact.PackReferrer(document, subject)
	if err != nil {
		return entry, false, err
	}
	title := referrer.Entry.Annotations[ocispec.AnnotationTitle]
	for _, d := range known.entries {
		if d.Digest != referrer.Entry.Digest && (d.ArtifactType != document.MediaType || d.Annotations[ocispec.AnnotationTitle] != title) {
			continue
		}
		if exists, err := hasManifest(ctx, repo, d); exists || err != nil {
			return entry, false, err
		}
	}
	for _, d := range []provider.Document{referrer.Config, referrer.Document} {
		if err := pushDocument(ctx, repo, d); err != nil {
			return entry, false, err
		}
	}
	return referrer.Entry, true, repo.PushManifest(ctx, referrer.Manifest)
}

// holdsManifest reports whether the manifest of an entry exists: clean-up jobs delete
// manifests that have no tag.
func hasManifest(ctx context.Context, repo Reader, d ocispec.Descriptor) (bool, error) {
	_, _, err := repo.Manifest(ctx, d.Digest.String())
	return exists(err)
}

// referrersList is the list of referrers that is kept under a tag.
type referrersList struct {
	repo    Repository
	subject digest.Digest
	// original is a list that is written as it is, if it leaves nothing out; the
	// zero value is none.
	original artifact.Blob
}

// add adds entries to the list, and reads it back: another run may have written it
// at the same time. Where the repository cannot refuse to move a tag that another
// run moved, it is read once more.
func (l referrersList) add(ctx context.Context, entries []ocispec.Descriptor, known referrers) error {
	settled := l.repo.Traits().AtomicTags
	for range maxMerges {
		missing := slices.DeleteFunc(slices.Clone(entries), func(e ocispec.Descriptor) bool { return known.has(e.Digest) })
		switch {
		case len(missing) > 0:
			next, err := l.next(ctx, entries, missing, known)
			if err != nil {
				return err
			}
			err = l.repo.PushTag(ctx, next, artifact.ReferrersTag(l.subject), known.list.Descriptor.Digest)
			if err != nil && !errors.Is(err, ErrTagMoved) {
				return err
			}
			settled = l.repo.Traits().AtomicTags
		case settled:
			return nil
		default:
			if err := bounded.Pause(ctx, l.repo.Traits().ConfirmDelay); err != nil {
				return err
			}
			settled = true
		}
		var err error
		if known, err = readReferrers(ctx, l.repo, l.subject); err != nil {
			return err
		}
	}
	return fmt.Errorf("the list of referrers: %w, %d times", ErrTagMoved, maxMerges)
}

// next is the list to write: the original, or what is known with the missing ones.
func (l referrersList) next(ctx context.Context, entries, missing []ocispec.Descriptor, known referrers) (artifact.Blob, error) {
	isNew := func(d ocispec.Descriptor) bool { return !referrers{entries: entries}.has(d.Digest) }
	if l.original.Bytes != nil && !slices.ContainsFunc(known.entries, isNew) {
		return l.original, nil
	}
	return known.with(ctx, l.repo, missing)
}

// with is the list with more entries, and without those that lead nowhere:
// registries refuse an index that names what they do not have.
func (l referrers) with(ctx context.Context, repo Reader, entries []ocispec.Descriptor) (artifact.Blob, error) {
	var alive []ocispec.Descriptor
	for _, d := range l.entries {
		exists, err := hasManifest(ctx, repo, d)
		if err != nil {
			return artifact.Blob{}, err
		}
		if exists {
			alive = append(alive, d)
		}
	}
	return artifact.AddReferrer(alive, entries...)
}

func (l referrers) has(d digest.Digest) bool {
	return slices.ContainsFunc(l.entries, func(e ocispec.Descriptor) bool { return e.Digest == d })
}
