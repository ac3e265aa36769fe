package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	pgperrors "github.com/ProtonMail/go-crypto/openpgp/errors"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// verificationMetadata contains the metadata that clients of the registry protocol use to
// verify a package. The signature was made by the release's author or by this server.
type verificationMetadata struct {
	protocols []string
	// filename is the file name of the zip in the checksums.
	filename        string
	zip             digest.Digest
	sums, signature []byte
	keys            []signingKey
	// omitReason is the reason no client would install the package. If omitReason is
	// not empty, the registry protocol omits the package.
	omitReason string
}

func (e verificationMetadata) weight() int64 {
	weight := len(e.sums) + len(e.signature) + len(e.omitReason)
	for _, k := range e.keys {
		weight += len(k.ASCIIArmor)
	}
	return int64(weight)
}

// metadataFor returns the verification metadata of a package.
func (s *Server) metadataFor(ctx context.Context, q query, i index, p provider.Platform) (verificationMetadata, error) {
	if !i.HasPlatform(p) {
		return verificationMetadata{}, &provider.PlatformError{Address: q.address, Version: i.version, Wanted: p, Have: i.Index.Platforms()}
	}
	fetch := func(ctx context.Context) (verificationMetadata, error) {
		e, err := s.repos.readMetadata(ctx, q, i, p)
		if e.omitReason != "" {
			s.options.Events.onOmitted(q.address, i.version, e.omitReason)
		}
		return e, err
	}
	e, state, err := s.repos.metadata.get(ctx, i.key(q, p), fetch)
	if e.omitReason != "" && state.age >= negativeAge { // the problem might have been fixed
		e, _, err = s.repos.metadata.getWithin(ctx, i.key(q, p), negativeAge, fetch)
	}
	return e, err
}

// readMetadata reads the verification metadata of a package from its artifact.
func (rc *repositoryCache) readMetadata(ctx context.Context, q query, i index, p provider.Platform) (verificationMetadata, error) {
	// 1. Read the package and its documents. If they are invalid, omit the package.
	deeper, err := i.InspectMore(ctx, i.repo, repository.DepthManifests, p)
	if err != nil {
		return verificationMetadata{}, err
	}
	r, err := oci.FromInspection(ctx, i.repo, deeper, q.address, i.version, []provider.Platform{p})
	if isInvalidContent(err) {
		return verificationMetadata{omitReason: fmt.Sprintf("the artifact is inconsistent: %v", err)}, nil
	}
	if err != nil {
		return verificationMetadata{}, err
	}
	// 2. Verify the signature.
	return rc.metadataOf(ctx, r)
}

// metadataOf returns the verification metadata of the first package of a release.
func (rc *repositoryCache) metadataOf(ctx context.Context, r provider.Release) (verificationMetadata, error) {
	// Use only the keys in the artifact, because clients have no other keys.
	verdict, err := trust.Policy{Mode: trust.ModeOff}.Verify(ctx, r)
	if _, refused := errors.AsType[*trust.RefusedError](err); err != nil && !refused {
		return verificationMetadata{}, err
	}
	e := verificationMetadata{protocols: provider.SortProtocols(r.Protocols), zip: r.Packages[0].Digest}
	switch verdict.Trust {
	case provider.TrustUnpinned, provider.TrustSigned, provider.TrustExpired:
		return e.signedByPublisher(r, verdict), nil
	case provider.TrustUnsigned, provider.TrustUnknown:
		if rc.options.Signer == nil {
			return verificationMetadata{omitReason: fmt.Sprintf("%s, and the server has no signing key (--sign-key)", verdict)}, nil
		}
		return e.signedByServer(rc.options.Signer, r)
	}
	return verificationMetadata{omitReason: verdict.String()}, nil
}

// isInvalidContent reports whether the content of a repository is invalid. It returns
// false for a wrong size, because the response might have been truncated.
func isInvalidContent(err error) bool {
	_, isSize := errors.AsType[*sums.SizeError](err)
	kind := provider.KindOf(err)
	return !isSize && (kind == provider.Unverified || kind == provider.Malformed)
}

// signedByPublisher returns e with the author's signature and keys from the artifact.
func (e verificationMetadata) signedByPublisher(r provider.Release, verdict provider.Verdict) verificationMetadata {
	listed, _ := r.Document(provider.KindSums)
	if hasBlankLine(listed.Bytes) {
		return verificationMetadata{omitReason: "its SHA256SUMS contains a blank line, which makes OpenTofu 1.12 crash"}
	}
	keyID := verdict.Fingerprint[max(0, len(verdict.Fingerprint)-16):]
	var keys []signingKey
	for _, d := range r.Documents {
		if d.Kind == provider.KindKeys {
			keys = append(keys, splitKeys(d.Bytes, keyID)...)
		}
	}
	e.sums, e.keys = listed.Bytes, keys
	e.filename = listedName(listed, r.Packages[0])
	// Clients receive a single signature, so find a signature that they accept.
	var refused error
	for _, d := range r.Documents {
		if d.Kind != provider.KindSignature {
			continue
		}
		e.signature = dearmor(d.Bytes)
		if refused = checkLikeClient(e.sums, e.signature, e.keys); refused == nil {
			return e
		}
	}
	return verificationMetadata{omitReason: fmt.Sprint(refused)}
}

// signedByServer returns metadata that is signed by this server. It uses the checksums of
// the release if they are usable.
func (e verificationMetadata) signedByServer(by artifact.Signer, r provider.Release) (verificationMetadata, error) {
	listed, has := r.Document(provider.KindSums)
	if !has || hasBlankLine(listed.Bytes) {
		listed = source.GeneratedSums(r)
	}
	signature, err := by.Sign(listed.Bytes)
	if err != nil {
		return verificationMetadata{}, err
	}
	e.sums, e.signature, e.keys = listed.Bytes, signature, splitKeys(by.Keys(), "")
	e.filename = listedName(listed, r.Packages[0])
	return e, nil
}

// listedName returns the file name of a zip in the checksums. If the checksums list the
// conventional name, listedName returns that name. Otherwise, it returns the name in
// the artifact.
func listedName(listed provider.Document, p provider.Package) string {
	file, err := sums.Parse(listed.Bytes)
	if err == nil && p.ListedAs != "" && file.Check(p.Filename, p.Digest) != nil {
		return p.ListedAs
	}
	return p.Filename
}

// hasBlankLine reports whether a document contains a blank line before its end.
func hasBlankLine(document []byte) bool {
	lines := bytes.Split(bytes.TrimSuffix(document, []byte("\n")), []byte("\n"))
	return slices.ContainsFunc(lines, func(line []byte) bool { return len(bytes.Fields(line)) == 0 })
}

// splitKeys returns the readable armored blocks, one per signing key. Clients read only
// the first block of a signing key and fail if they can't read it.
func splitKeys(armored []byte, id string) []signingKey {
	const begin, end = "-----BEGIN PGP PUBLIC KEY BLOCK-----", "-----END PGP PUBLIC KEY BLOCK-----"
	var keys []signingKey
	for {
		from := bytes.Index(armored, []byte(begin))
		if from < 0 {
			return keys
		}
		size := bytes.Index(armored[from:], []byte(end))
		if size < 0 {
			return keys
		}
		size += len(end)
		key := string(armored[from:from+size]) + "\n"
		if _, err := openpgp.ReadArmoredKeyRing(strings.NewReader(key)); err == nil {
			keys = append(keys, signingKey{KeyID: id, ASCIIArmor: key})
		}
		armored = armored[from+size:]
	}
}

// dearmor returns a signature in binary form, because clients don't accept armor. It
// returns other input unchanged.
func dearmor(signature []byte) []byte {
	block, err := armor.Decode(bytes.NewReader(signature))
	if err != nil {
		return signature
	}
	raw, err := io.ReadAll(block.Body)
	if err != nil {
		return signature
	}
	return raw
}

// checkLikeClient verifies a signature as OpenTofu and Terraform do. It tries each key
// and accepts expired keys and signatures. See
// https://github.com/opentofu/opentofu/blob/v1.12.6/internal/getproviders/package_authentication.go.
func checkLikeClient(document, signature []byte, keys []signingKey) error {
	for _, k := range keys {
		ring, err := openpgp.ReadArmoredKeyRing(strings.NewReader(k.ASCIIArmor))
		if err != nil {
			return fmt.Errorf("clients cannot read the key: %w", err)
		}
		_, err = openpgp.CheckDetachedSignature(ring, bytes.NewReader(document), bytes.NewReader(signature), nil)
		switch {
		case errors.Is(err, pgperrors.ErrUnknownIssuer):
			continue
		case err == nil, errors.Is(err, pgperrors.ErrKeyExpired), errors.Is(err, pgperrors.ErrSignatureExpired):
			return nil
		}
		return fmt.Errorf("clients reject the signature: %w", err)
	}
	return errors.New("the signature was not made with any of the keys in the artifact")
}
