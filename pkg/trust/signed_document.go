package trust

import (
	"context"
	"fmt"
	"slices"

	"github.com/ProtonMail/go-crypto/openpgp"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

const (
	// maxSums is the maximum size of a SHA256SUMS document, in bytes. Each listed file
	// uses about 100 bytes.
	maxSums = 1 << 20
	// maxReleaseKeys is the maximum size of a release's keys, in bytes.
	// maxReleaseKeyCount is the maximum number of keys. The number is limited because
	// each signature is checked with every key.
	maxReleaseKeys, maxReleaseKeyCount = 2 << 20, 100
)

// signedDocument contains a document, its signatures, and the keys of the release.
type signedDocument struct {
	sums       []byte
	signatures []namedSignature
	keys       openpgp.EntityList
	// someKeys reports whether the release has keys, even if they are unreadable.
	someKeys bool
	// misnamed is the name of the package in the document if this name doesn't contain
	// the version and the platform. Otherwise, misnamed is empty.
	misnamed string
}

type namedSignature struct {
	name    string
	content []byte
}

// signedDocumentsOf reads the signed documents of a release. It returns one document
// for all packages or, if the packages have separate documents, one for each package.
func signedDocumentsOf(ctx context.Context, r provider.Release) ([]signedDocument, error) {
	if _, shared := r.Document(provider.KindSums); shared || len(r.Packages) == 0 {
		e, err := readSignedDocument(ctx, r.Documents, r.Packages...)
		return []signedDocument{e}, err
	}
	var all []signedDocument
	for _, p := range r.Packages {
		documents := slices.Concat(r.Documents, p.Documents)
		e, err := readSignedDocument(ctx, documents, p)
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

func readSignedDocument(ctx context.Context, documents []provider.Document, packages ...provider.Package) (e signedDocument, err error) {
	for _, d := range documents {
		if d.Scope != provider.ScopeRelease {
			continue
		}
		switch d.Kind {
		case provider.KindSums:
			if e.sums == nil {
				e.sums, err = read(ctx, d, maxSums)
			}
		case provider.KindSignature:
			var content []byte
			if content, err = read(ctx, d, maxSignature); err == nil {
				e.signatures = append(e.signatures, namedSignature{d.Name, content})
			}
			if len(e.signatures) > maxSignatures {
				err = fmt.Errorf("more than %d signatures", maxSignatures)
			}
		case provider.KindKeys:
			var content []byte
			if content, err = read(ctx, d, maxReleaseKeys); err == nil && len(content) > 0 {
				keys, _ := parseKeys(content) // unreadable keys can't verify a signature
				e.keys, e.someKeys = append(e.keys, keys...), true
			}
			if len(e.keys) > maxReleaseKeyCount {
				err = fmt.Errorf("%s contains more than %d keys", d.Name, maxReleaseKeyCount)
			}
		}
		if err != nil {
			return e, fmt.Errorf("verifying the signature: %w", err)
		}
	}
	for _, p := range packages {
		if p.ListedAs != "" && p.CheckConventional(p.ListedAs) != nil {
			e.misnamed = p.ListedAs
		}
	}
	return e, nil
}

// read returns the content of a document, up to a limit.
func read(ctx context.Context, d provider.Document, limit int64) ([]byte, error) {
	if d.Size > limit || int64(len(d.Bytes)) > limit {
		return nil, fmt.Errorf("%s exceeds %d bytes", d.Name, limit)
	}
	return d.Read(ctx)
}
