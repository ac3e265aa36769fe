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

// Options of [Release]. The zero value publishes all platforms with h1 hashes.
type Options struct {
	// Platforms are those wanted; none means all that the release has.
	Platforms []provider.Platform
	// Index has the source URL and the annotations that the index gets; its Provider is
	// not used. Where nothing else changes they do not count, see [Result.AnnotationsKept].
	Index artifact.Options
	// SBOM makes a package's SBOM of its zip, a local file, before the package
	// is sent, unless the source or the repository has one; nil makes none.
	// [SBOMProgram] makes one of a command line.
	SBOM func(ctx context.Context, p provider.Package, zip string) (provider.Document, error)
	// Aliases are the providers whose releases the repository may have instead:
	// one that is added to stays theirs.
	Aliases provider.Aliases
	// NoH1 leaves out h1 hashes that the source does not state.
	NoH1 bool
	// Judge says what the signature of a release proves, before anything of it is
	// sent: it is given what the tag is to name, with the keys that the source
	// offers. Its error ends the run. What is unchanged is judged again only with
	// Recheck. nil judges nothing; the methods of trust.Policy are such functions.
	Judge func(ctx context.Context, r provider.Release) (provider.Verdict, error)
	// Signing signs releases, and adds keys to those that are signed.
	Signing Signing
	// Recheck asks a remote source for its digests also when every wanted
	// platform is there and whole, and has the signature judged again. A published
	// version never changes, so this finds only those that were changed against
	// the rules: *[repository.ConflictError].
	Recheck bool
	// Check is how hard a release that is there is looked at; 0 is
	// [repository.DepthBlobs]. [repository.DepthTags] is for sources whose releases are
	// published whole: for others, and with Recheck or Force, it is DepthIndex.
	Check repository.Depth
	// Force replaces what conflicts instead of refusing it, and overrules a denial.
	Force bool
	// SkipDenied reports a denied version as [Denied] instead of returning an error, and
	// lets Force overrule no denial: it is for versions that nobody named.
	SkipDenied bool
	// Stage puts the release under its pending tag, which OpenTofu does not see, until
	// approval.Promote moves it to its version. What the version holds already is taken
	// along, so that a tag is all that has to move.
	Stage bool
	// DryRun compares and sends nothing.
	DryRun bool
	// NoReferrers leaves out what is about all platforms and would refer to the index,
	// for registries that hold no lists of that: [repository.ErrNoReferrersList].
	NoReferrers bool
}

// Status is what publishing a release, or deciding about it, found and did.
type Status string

// The outcomes that are no errors. A conflict is a *[repository.ConflictError].
const (
	// Created: the tag was not there.
	Created Status = "created"
	// Unchanged: every wanted platform was there with the same zip, nothing
	// was sent.
	Unchanged Status = "unchanged"
	// Extended: platforms were added beside equal ones, or evidence to packages
	// that were there, see [Plan] Added.
	Extended Status = "extended"
	// Repaired: content that the tag needs was missing and is back.
	Repaired Status = "repaired"
	// Replaced: what conflicted was overwritten, as Force says.
	Replaced Status = "replaced"
	// Denied: the version is denied, so nothing was sent, see SkipDenied.
	Denied Status = "denied"
	// Pending: the release is staged, and to be decided about.
	Pending Status = "pending"
	// Promoted: the version was not there, and is what was pending.
	Promoted Status = "promoted"
)

// Result says what became of a release.
type Result struct {
	// Plan is what was to be done. After a conflict, its Tag is that of what is there.
	Plan
	// Digest is the index's, after a conflict that of what is there; empty in a dry run
	// that would send something, and where [repository.DepthTags] found the tag. Where other runs
	// publish at the same time, the index may be one that another run made of our
	// packages and its own.
	Digest digest.Digest
	// Source is the digest of the index that [Copy] found at the source, where the tag
	// stays at another one.
	Source digest.Digest
	// Packages are the wanted ones, sorted by platform; none where [repository.DepthTags] found
	// the tag.
	Packages []PackageResult
	// Documents are those about the whole release that go along; none where nothing
	// is sent. Those about a package are with it, and Attached names referrers.
	Documents []provider.Document
	// Verdict is what Judge said; none where it was not asked.
	Verdict provider.Verdict
	// Attached are the names of the referrers that this run attached.
	Attached []string
	// Slow tells that writing took so long, in a registry, that a job which
	// published this version at the same time and took longer still may have lost
	// what this one wrote, or the other way round. Running both again mends it.
	Slow bool
	// Moved counts how often another run moved the tag meanwhile and its
	// platforms were merged in.
	Moved int
}

// PackageResult says what became of a package.
type PackageResult struct {
	Package provider.Package
	// Sent reports whether the zip was read from the source and pushed; else the
	// repository had it.
	Sent bool
	// Mounted tells that the registry took the zip over from the repository that
	// [Copy] read.
	Mounted bool
}

// depth is how hard a release that is there is looked at.
func (o Options) depth() repository.Depth { return cmp.Or(o.Check, repository.DepthBlobs) }

// orDenied makes a status of a denial, with SkipDenied.
func (r Result) orDenied(o Options, err error) (Result, error) {
	denied, is := errors.AsType[*repository.DeniedError](err)
	if !is || !o.SkipDenied {
		return r, err
	}
	record := &denied.Record
	return Result{Plan: Plan{Address: r.Address, Version: r.Version, Status: Denied, Tag: record.Tag, Denial: record}, Digest: record.Digest}, nil
}
