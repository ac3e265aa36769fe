package publish

import (
	"cmp"
	"context"
	"errors"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// Options configures [Release]. The zero value publishes all platforms, with h1 hashes.
type Options struct {
	// Operation describes the work in error messages, such as "mirroring". If empty,
	// "publishing" is used.
	Operation string
	// Platforms lists the platforms to publish. If empty, all platforms of the release
	// are published.
	Platforms []provider.Platform
	// Index contains the source URL and the annotations of the index. Its Provider is
	// ignored. If only annotations differ, the index isn't updated. See [Plan]
	// AnnotationsKept.
	Index artifact.Options
	// SBOM, if not nil, generates the SBOM for a package before the package is sent. zip
	// is the path of a local copy of the package's zip. SBOM is not called for packages
	// that have an SBOM in the source or the repository. Use [SBOMProgram] to create
	// this function from a command line.
	SBOM func(ctx context.Context, p provider.Package, zip string) (provider.Document, error)
	// AutoSBOM generates a CycloneDX document for each package that has no SBOM, from the
	// executable's Go build information. Unlike SBOM, it also reads the zips of packages
	// that the repository already has. It is ignored if SBOM is set, or if the source has
	// an SBOM for all platforms.
	AutoSBOM bool
	// Attestations specifies whether the source's attestations are published, as
	// referrers of the packages' manifests. It is ignored with NoReferrers.
	Attestations AttestationMode
	// Aliases allows the repository to contain releases from other providers. A release
	// keeps its provider if platforms are added to it.
	Aliases provider.Aliases
	// NoH1 prevents computing h1 hashes that the source does not provide.
	NoH1 bool
	// Verify, if not nil, verifies the signature of a release before anything is sent.
	// r is the release that the tag will point to, with the keys that the source
	// offers. If Verify returns an error, publishing fails with this error. Unchanged
	// releases are verified only with AgainstOrigin. You can use a method of trust.Policy.
	Verify func(ctx context.Context, r provider.Release) (provider.Verdict, error)
	// Signing signs releases, and adds keys to signed releases.
	Signing Signing
	// RecordSigner, if not nil, signs the records of gate decisions and of each use of
	// Force. If nil, Signing's signer is used.
	RecordSigner artifact.Signer
	// AgainstOrigin requests the digests from a remote source and verifies the signature
	// again, even if the repository has all platforms. If a published version has
	// changed, the error is a *[repository.ConflictError].
	AgainstOrigin bool
	// Check is the depth to which an existing release is inspected. If zero,
	// [repository.DepthBlobs] is used. [repository.DepthTags] requires a source of
	// published releases, and can't be combined with AgainstOrigin or Force. If these
	// conditions aren't met, [repository.DepthIndex] is used instead.
	Check repository.Depth
	// Force replaces conflicting content instead of returning an error, and overrides a
	// denial.
	Force bool
	// SkipDenied reports a denied version as [Denied] instead of returning an error,
	// even with Force. Use it for versions that the user did not specify exactly.
	SkipDenied bool
	// Stage publishes the release under its pending tag, which OpenTofu ignores. Later,
	// approval.Promote publishes the release under the version's tag. The pending index
	// includes the platforms of the released version, so promotion only moves a tag.
	Stage bool
	// Gates decide whether a release can be tagged. If a gate holds the release, its
	// pending tag is written instead.
	Gates Gates
	// Import makes [Publisher.Copy] run the gates with [ActionImport] instead of
	// [ActionCopy]. Set it if the source is a bundle.
	Import bool
	// DryRun computes the result without sending anything or running gates.
	DryRun bool
	// NoReferrers omits documents about all platforms, which refer to the index. Use it
	// for registries that can't store these documents. See
	// [repository.ErrNoReferrersList].
	NoReferrers bool
}

// AttestationMode specifies whether the source's attestations are published, and whether
// they are required. If it is empty, they are not published.
type AttestationMode string

// Attestation modes. In both modes, the signatures of attestations are not verified.
const (
	// AttestationsFetch publishes the source's attestations. Unless Check is
	// [repository.DepthIndex] or less, it also adds attestations to stored packages
	// that have none. If some are unavailable, the result contains a warning.
	AttestationsFetch AttestationMode = "fetch"
	// AttestationsRequire also makes publishing fail if a new package has no attestation,
	// or if attestations are unavailable.
	AttestationsRequire AttestationMode = "require"
)

// Status is the outcome of publishing a release, or of a decision about a release.
type Status string

// Outcomes that are not errors. A conflict is a *[repository.ConflictError].
const (
	// Created means that the tag did not exist.
	Created Status = "created"
	// Unchanged means that the repository already has all requested platforms with the
	// same zips. Nothing was sent.
	Unchanged Status = "unchanged"
	// Extended means that platforms were added, or that documents were added to
	// existing packages. See [Plan] Added.
	Extended Status = "extended"
	// Repaired means that missing or damaged content was restored.
	Repaired Status = "repaired"
	// Replaced means that conflicting content was overwritten because of Force.
	Replaced Status = "replaced"
	// Denied means that the version is denied and nothing was sent. See SkipDenied.
	Denied Status = "denied"
	// Pending means that the release is staged and is waiting for approval.
	Pending Status = "pending"
	// Promoted means that the pending release was published as a new version.
	Promoted Status = "promoted"
)

// Result is the outcome of publishing one release.
type Result struct {
	// Plan is the executed plan. After a conflict, its Tag is the existing tag.
	Plan
	// Digest is the digest of the index. After a conflict, it is the digest of the
	// existing index. It is empty in a dry run that would have pushed content, or if
	// only the tag list was checked ([repository.DepthTags]). If several runs publish
	// the version at the same time, another run might have built the index from the
	// packages of all runs.
	Digest digest.Digest
	// Source is the digest of the source's index. It is set only if [Publisher.Copy]
	// kept a different index at the target.
	Source digest.Digest
	// Packages contains the requested packages, sorted by platform. It is empty if only
	// the tag list was checked ([repository.DepthTags]).
	Packages []PackageResult
	// Documents contains the documents about the entire release that are published with
	// it. It is empty if nothing is sent. Documents about a package are in Packages,
	// and referrers are in Attached.
	Documents []provider.Document
	// Verdict is the result of Verify, or the zero value if Verify was not called.
	Verdict provider.Verdict
	// Held is the reason a gate holds the release, or nil.
	Held *HeldError
	// Attached contains the names of the new referrers.
	Attached []string
	// Unattested, if not nil, is the reason attestations of the release are
	// unavailable.
	Unattested error
	// Omitted contains an error for each platform that the source lists but whose package
	// can't be used. The other platforms were published.
	Omitted []*provider.PlatformError
	// Slow reports whether writing took so long that concurrent jobs for this version
	// might have overwritten each other's content. To repair the release, run these
	// jobs again.
	Slow bool
	// Moved is the number of times that another run moved the tag. Each time, the
	// platforms of both runs were merged.
	Moved int
}

// PackageResult is the outcome of publishing one package.
type PackageResult struct {
	Package provider.Package
	// Sent reports whether the zip was read from the source and pushed. If false, the
	// repository already had it.
	Sent bool
	// Mounted reports whether [Publisher.Copy] made the registry mount the zip from the
	// source repository.
	Mounted bool
	// Warning is the reason OpenTofu can't start the package, without a final period. It
	// is empty if there is none, or if the zip was not read.
	Warning string
}

// depth returns the depth to which an existing release is inspected.
func (o Options) depth() repository.Depth { return cmp.Or(o.Check, repository.DepthBlobs) }

// orDenied returns the status Denied instead of an error if SkipDenied is set.
func (r Result) orDenied(o Options, err error) (Result, error) {
	denied, is := errors.AsType[*repository.DeniedError](err)
	if !is || !o.SkipDenied {
		return r, err
	}
	record := &denied.Record
	return Result{Plan: Plan{Address: r.Address, Version: r.Version, Status: Denied, Tag: record.Tag, Denial: record}, Digest: record.Digest}, nil
}
