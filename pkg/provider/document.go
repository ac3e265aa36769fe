package provider

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/opencontainers/go-digest"
)

// DocumentKind classifies documents, independently of their formats.
type DocumentKind string

// The kinds of documents.
const (
	// KindSums is a SHA256SUMS file.
	KindSums DocumentKind = "checksums"
	// KindSignature is a detached OpenPGP signature. If its scope is the release, it is
	// a signature of SHA256SUMS. If its scope is a package, it is a signature of a zip.
	KindSignature DocumentKind = "signature"
	// KindKeys is a file of armored OpenPGP keys, as provided by the origin registry.
	KindKeys DocumentKind = "keys"
	// KindSBOM is a software bill of materials.
	KindSBOM DocumentKind = "sbom"
	// KindProvenance is a statement about how the packages were built.
	KindProvenance DocumentKind = "provenance"
	// KindSigstore is a Sigstore bundle, which contains a signature or an attestation
	// together with the data needed to verify it. If its scope is the release, it is
	// about SHA256SUMS or all packages. If its scope is a package, it is about a zip.
	KindSigstore DocumentKind = "sigstore"
	// KindOther is any other document.
	KindOther DocumentKind = "other"
)

// Scope is the subject of a document.
type Scope string

const (
	// ScopeRelease means that the document is about all packages of a version.
	ScopeRelease Scope = "release"
	// ScopePackage means that the document is about one package.
	ScopePackage Scope = "package"
)

// Document is a file that accompanies a release or a package, such as SHA256SUMS, a
// signature, or an SBOM. Digest and Size are always set.
type Document struct {
	Kind  DocumentKind
	Scope Scope
	// Name is the file name, without directories.
	Name      string
	MediaType string
	Digest    digest.Digest
	// Size is the size in bytes.
	Size int64
	// Bytes is the content, or nil if the source doesn't keep it in memory. Sources
	// keep SHA256SUMS, its signature, and keys in memory.
	Bytes []byte
	// Content opens the document if Bytes is nil. Like the Open method of [Source], it
	// returns a reader that verifies the content.
	Content func(ctx context.Context) (io.ReadCloser, error)
	// Generated reports whether the source generated the document. If so, the source
	// can generate it again after packages are added.
	Generated bool
}

// WithBytes returns the document with the given content and the matching digest and size.
func (d Document) WithBytes(content []byte) Document {
	if content == nil {
		content = []byte{} // nil would mean that Content is used
	}
	d.Bytes, d.Content = content, nil
	d.Digest, d.Size = digest.FromBytes(content), int64(len(content))
	return d
}

// Open returns a reader that verifies the document. It returns errors from Content. If
// the document has neither Bytes nor Content, the error is of the kind [Refused].
func (d Document) Open(ctx context.Context) (io.ReadCloser, error) {
	switch {
	case d.Bytes != nil:
		return io.NopCloser(bytes.NewReader(d.Bytes)), nil
	case d.Content != nil:
		return d.Content(ctx)
	}
	return nil, Errorf(Refused, "opening document %s: no content", d.Name)
}

// Read returns the content of the document. It returns errors from Open and from reading
// the content.
func (d Document) Read(ctx context.Context) ([]byte, error) {
	if d.Bytes != nil {
		return d.Bytes, nil
	}
	body, err := d.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	// The limit is for readers that don't verify the content. Readers that verify it
	// return at most Size bytes.
	data := bytes.NewBuffer(make([]byte, 0, max(d.Size, 0)+bytes.MinRead))
	if _, err := data.ReadFrom(io.LimitReader(body, d.Size+1)); err != nil {
		return nil, fmt.Errorf("fetching %s: %w", d.Name, err)
	}
	return data.Bytes(), nil
}
