package trust

import (
	"context"
	"fmt"
	"slices"

	"github.com/ProtonMail/go-crypto/openpgp"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

const (
	// maxSums bounds a SHA256SUMS document, in bytes: a hundred bytes a file.
	maxSums = 1 << 20
	// maxReleaseKeys bounds the keys that come with a release, in bytes, and
	// maxReleaseKeyCount their number: each copy of the key that signed is tried.
	maxReleaseKeys, maxReleaseKeyCount = 2 << 20, 100
)

// evidence is what there is to judge: a document, its signatures, and the keys that
// came with it.
type evidence struct {
	sums       []byte
	signatures []namedSignature
	keys       openpgp.EntityList
	// someKeys tells that there are keys, though perhaps none that can be read.
	someKeys bool
	// misnamed is the name that the sums have for a package where it does not say
	// which version and platform it is; else empty.
	misnamed string
}

type namedSignature struct {
	name    string
	content []byte
}

// evidenceOf reads the evidence of a release: one for all packages, or one for
// each that has its own.
func evidenceOf(ctx context.Context, r provider.Release) ([]evidence, error) {
	if _, shared := r.Document(provider.KindSums); shared || len(r.Packages) == 0 {
		e, err := readEvidence(ctx, r.Documents, r.Packages...)
		return []evidence{e}, err
	}
	var all []evidence
	for _, p := range r.Packages {
		documents := slices.Concat(r.Documents, p.Documents)
		e, err := readEvidence(ctx, documents, p)
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

func readEvidence(ctx context.Context, documents []provider.Document, packages ...provider.Package) (e evidence, err error) {
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
				err = fmt.Errorf("there are more than %d signatures", maxSignatures)
			}
		case provider.KindKeys:
			var content []byte
			if content, err = read(ctx, d, maxReleaseKeys); err == nil && len(content) > 0 {
				keys, _ := parseKeys(content) // those that can't be read sign nothing
				e.keys, e.someKeys = append(e.keys, keys...), true
			}
			if len(e.keys) > maxReleaseKeyCount {
				err = fmt.Errorf("%s has more than %d keys", d.Name, maxReleaseKeyCount)
			}
		}
		if err != nil {
			return e, fmt.Errorf("judging the signature: %w", err)
		}
	}
	for _, p := range packages {
		if p.ListedAs != "" && p.CheckConventional(p.ListedAs) != nil {
			e.misnamed = p.ListedAs
		}
	}
	return e, nil
}

// read returns a document within a limit, whatever size it states.
func read(ctx context.Context, d provider.Document, limit int64) ([]byte, error) {
	if d.Size > limit || int64(len(d.Bytes)) > limit {
		return nil, fmt.Errorf("%s has more than %d bytes", d.Name, limit)
	}
	return d.Read(ctx)
}
