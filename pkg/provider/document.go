package provider

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/opencontainers/go-digest"
)

// DocumentKind classifies a document, whatever its format.
type DocumentKind string

// The kinds of documents.
const (
	// KindSums is a SHA256SUMS document.
	KindSums DocumentKind = "checksums"
	// KindSignature is a detached OpenPGP signature: of SHA256SUMS when its scope
	// is the release, of a zip when it is a package.
	KindSignature DocumentKind = "signature"
	// KindKeys is armored OpenPGP keys, as the origin offered them.
	KindKeys DocumentKind = "keys"
	// KindSBOM is a software bill of materials.
	KindSBOM DocumentKind = "sbom"
	// KindProvenance says how the packages were built.
	KindProvenance DocumentKind = "provenance"
	// KindSigstore is a Sigstore bundle: a signature or an attestation with what is
	// needed to verify it. It is of SHA256SUMS or of all packages when its scope is
	// the release, of a zip when it is a package.
	KindSigstore DocumentKind = "sigstore"
	// KindOther is everything else that travels along.
	KindOther DocumentKind = "other"
)

// Scope says what a document is about.
type Scope string

const (
	// ScopeRelease is all packages of a version.
	ScopeRelease Scope = "release"
	// ScopePackage is one package.
	ScopePackage Scope = "package"
)

// Document is a small file that travels with a release or a package: evidence
// about it. Digest and Size are always known.
type Document struct {
	Kind  DocumentKind
	Scope Scope
	// Name is its file name, one path element.
	Name      string
	MediaType string
	Digest    digest.Digest
	// Size is in bytes.
	Size int64
	// Bytes is the whole document where the source holds it in memory, as it
	// does with SHA256SUMS, its signature and keys; else nil.
	Bytes []byte
	// Content opens the document where it lies, when Bytes is nil. The reader is
	// verified as that of [Source] Open is.
	Content func(ctx context.Context) (io.ReadCloser, error)
	// Generated tells that the source made the document itself, so that it may
	// be made again when packages are added.
	Generated bool
}

// WithBytes returns the document with a content, its digest and its size.
func (d Document) WithBytes(content []byte) Document {
	if content == nil {
		content = []byte{} // nil means that it is elsewhere
	}
	d.Bytes, d.Content = content, nil
	d.Digest, d.Size = digest.FromBytes(content), int64(len(content))
	return d
}

// Open returns a verified reader of the document. It returns the errors of Content. A
// document with neither Bytes nor Content is [Refused].
func (d Document) Open(ctx context.Context) (io.ReadCloser, error) {
	switch {
	case d.Bytes != nil:
		return io.NopCloser(bytes.NewReader(d.Bytes)), nil
	case d.Content != nil:
		return d.Content(ctx)
	}
	return nil, Errorf(Refused, "opening the document %s: it has no content", d.Name)
}

// Read returns the whole document. Errors are those of Open.
func (d Document) Read(ctx context.Context) ([]byte, error) {
	if d.Bytes != nil {
		return d.Bytes, nil
	}
	body, err := d.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	// The reader is verified, and ends at Size; this bounds one that is not.
	data := bytes.NewBuffer(make([]byte, 0, max(d.Size, 0)+bytes.MinRead))
	if _, err := data.ReadFrom(io.LimitReader(body, d.Size+1)); err != nil {
		return nil, fmt.Errorf("fetching %s: %w", d.Name, err)
	}
	return data.Bytes(), nil
}
