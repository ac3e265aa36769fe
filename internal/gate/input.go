package gate

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/description"
	"github.com/tofu-oci/tofu-oci/internal/sigstore"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// input is the JSON object that a program receives.
type input struct {
	Gate       string           `json:"gate"`
	Action     string           `json:"action"`
	Repository string           `json:"repository"`
	Address    provider.Address `json:"address"`
	Module     bool             `json:"module,omitempty"`
	Index      digest.Digest    `json:"index"`
	release
	Signature description.Signature `json:"signature"`
	// Unattested explains why attestations are unavailable. It is empty if they are
	// available.
	Unattested string   `json:"unattested,omitempty"`
	Previous   *release `json:"previous,omitempty"`
	Changes    *changes `json:"changes,omitempty"`
}

// release describes the release to decide on, or the newest stored release.
type release struct {
	Version   provider.Version `json:"version"`
	Published time.Time        `json:"published,omitzero"`
	Protocols []string         `json:"protocols,omitempty"`
	// Signer is the fingerprint of the key that signed the release.
	Signer    string                 `json:"signer,omitempty"`
	Platforms []platform             `json:"platforms"`
	Documents []description.Document `json:"documents,omitempty"`
}

type platform struct {
	description.Package
	Documents []description.Document `json:"documents,omitempty"`
	// Attestations describes the Sigstore bundles that contain the digest of the zip.
	Attestations []attestation `json:"attestations,omitempty"`
	// Files maps the files that the gate needs to their paths.
	Files map[string]string `json:"files,omitempty"`
}

// attestation describes a Sigstore bundle. Its signature is not verified.
type attestation struct {
	PredicateType string        `json:"predicate_type,omitempty"`
	Digest        digest.Digest `json:"digest"`
	Size          int64         `json:"size"`

	content []byte
}

// changes describes the differences from the newest stored release.
type changes struct {
	PlatformsAdded   []string `json:"platforms_added"`
	PlatformsRemoved []string `json:"platforms_removed"`
	Protocols        bool     `json:"protocols"`
	Signer           bool     `json:"signer"`
	// Size is the change in the total size of the zips in bytes.
	Size int64 `json:"size"`
}

// notVerified is the verdict on a signature that was not verified.
const notVerified = "not-verified"

// newInput returns the input for a gate, without files.
func newInput(ctx context.Context, repo repository.Reader, g Gate, c publish.Candidate) (input, error) {
	in := input{
		Gate: g.Name, Action: c.Action, Repository: repo.String(), Address: c.Release.Address, Module: c.Release.Address.IsModule(),
		Index: c.Index.Descriptor.Digest, release: describe(c.Release, c.Signature),
		Signature: description.Signature{Verdict: notVerified},
	}
	if verified := description.NewSignature(c.Signature); verified != nil {
		in.Signature = *verified
	}
	if c.Unattested != nil {
		in.Unattested = text.Redact(c.Unattested.Error())
	}
	if err := in.addAttestations(ctx, c.Release); err != nil {
		return in, err
	}
	before, found, err := newest(ctx, repo, c.Release)
	if err != nil || !found {
		return in, err
	}
	in.Previous, in.Changes = &before, compare(before, in.release)
	return in, nil
}

// addAttestations adds the attestations of the release and the attestations in its
// repository.
func (in *input) addAttestations(ctx context.Context, r provider.Release) error {
	stored, err := oci.Attestations(ctx, r)
	if err != nil {
		return err
	}
	for i, p := range r.WithDocuments(stored).Packages {
		to := &in.Platforms[i]
		for _, d := range p.Documents {
			known := slices.ContainsFunc(to.Attestations, func(a attestation) bool { return a.Digest == d.Digest })
			if d.Kind != provider.KindSigstore || d.Size > sigstore.MaxSize || known {
				continue
			}
			content, err := d.Read(ctx)
			if err != nil {
				return err
			}
			if b, err := sigstore.Parse(content); err == nil && b.Covers(p.Digest) {
				to.Attestations = append(to.Attestations, attestation{b.PredicateType, d.Digest, d.Size, content})
			}
		}
	}
	return nil
}

func describe(r provider.Release, s provider.Verdict) release {
	d := release{Version: r.Version, Published: r.Published, Protocols: r.Protocols, Signer: s.Fingerprint, Documents: documents(r.Documents), Platforms: []platform{}}
	for _, p := range r.Packages {
		d.Platforms = append(d.Platforms, platform{Package: description.NewPackage(p), Documents: documents(p.Documents)})
	}
	return d
}

func documents(all []provider.Document) (described []description.Document) {
	for _, d := range all {
		described = append(described, description.NewDocument(d))
	}
	return described
}

// newest describes the newest stored version other than the release.
func newest(ctx context.Context, repo repository.Reader, r provider.Release) (d release, found bool, err error) {
	tags, err := repo.Tags(ctx)
	if errors.Is(err, provider.ErrForbidden) || errors.Is(err, repository.ErrNoRepository) || errors.Is(err, repository.ErrNotFound) {
		return d, false, nil // not all registries can list tags
	}
	versions := provider.NewestFirst(slices.Clone(artifact.Tags(tags).Released()))
	versions = slices.DeleteFunc(versions, func(v provider.Version) bool { return v == r.Version })
	if err != nil || len(versions) == 0 {
		return d, false, err
	}
	i, err := repository.Inspect(ctx, repo, artifact.Tag(versions[0]), repository.DepthManifests)
	if err != nil || !i.Exists() || i.Dangling || i.CheckFormat(r.Address) != nil {
		return d, false, err
	}
	stored, err := oci.FromInspection(ctx, repo, i, r.Address, versions[0], i.Index.Platforms())
	if err != nil {
		return d, false, err
	}
	var signed provider.Verdict
	if !r.Address.IsModule() {
		signed, err = trust.Policy{Mode: trust.ModeOff}.Verify(ctx, stored)
		if _, refused := errors.AsType[*trust.RefusedError](err); err != nil && !refused {
			return d, false, err
		}
	}
	return describe(stored, signed), true, nil
}

func compare(before, now release) *changes {
	c := changes{PlatformsAdded: []string{}, PlatformsRemoved: []string{}}
	missingIn := func(r release, p platform) bool {
		return !slices.ContainsFunc(r.Platforms, func(other platform) bool { return other.Platform == p.Platform })
	}
	for _, p := range now.Platforms {
		c.Size += p.Size
		if missingIn(before, p) {
			c.PlatformsAdded = append(c.PlatformsAdded, p.Platform)
		}
	}
	for _, p := range before.Platforms {
		c.Size -= p.Size
		if missingIn(now, p) {
			c.PlatformsRemoved = append(c.PlatformsRemoved, p.Platform)
		}
	}
	c.Protocols, c.Signer = !slices.Equal(before.Protocols, now.Protocols), before.Signer != now.Signer
	return &c
}
