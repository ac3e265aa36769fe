package doctor

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// Probe describes what the registry of a repository supports.
type Probe struct {
	Repository string `json:"repository"`
	// Tag is the tag of the pushed artifact. The tags of other artifacts start with Tag.
	Tag    string  `json:"tag"`
	Checks []Check `json:"checks"`
	// Left lists the tags and manifests that could not be deleted, or that might still
	// exist.
	Left []string `json:"left"`
	// leftErr is the reason that something is left.
	leftErr error
	// registry is the registry of the repository.
	registry string
}

// Check is the result of one check of a [Probe].
type Check struct {
	Name   string      `json:"name"`
	Result CheckResult `json:"result"`
	// Details describes the fallback, or the reason for the result.
	Details string `json:"details,omitempty"`
	// Affects lists the commands that don't work, or that don't work completely.
	Affects []string `json:"affects,omitempty"`
	err     error
}

// CheckResult is the result of a [Check].
type CheckResult string

const (
	// CheckWorks means that the registry supports what was checked.
	CheckWorks CheckResult = "works"
	// CheckFallback means that the registry doesn't support it, and that tofu-oci uses
	// something else instead.
	CheckFallback CheckResult = "fallback"
	// CheckFails means that the registry doesn't support it.
	CheckFails CheckResult = "fails"
	// CheckUnknown means that the result could not be determined.
	CheckUnknown CheckResult = "unknown"
)

// probedProvider is the provider of the pushed release. The host can't exist.
var probedProvider = provider.Address{Host: "tofu-oci.invalid", Namespace: "doctor", Type: "probe"}

// probeNote is the content of the pushed files, for readers who find them.
const probeNote = "This file was pushed by tofu-oci to find out what the registry supports. It can be deleted.\n"

// probe is the state of a call to [RunProbe].
type probe struct {
	Probe
	repo    *journal
	version provider.Version
	zip     []byte
}

// RunProbe finds out what a registry supports. It pushes a release and records to a
// repository, under tags that clients ignore, and deletes them again, even if ctx is
// canceled. If ctx is canceled, the remaining results are unknown, and RunProbe returns the
// cause.
func RunProbe(ctx context.Context, repo repository.Repository) (Probe, error) {
	var random [6]byte
	_, _ = rand.Read(random[:]) // never fails
	id := hex.EncodeToString(random[:])
	p := &probe{repo: &journal{Repository: repo, accepted: map[digest.Digest]bool{}}}
	p.Repository, p.registry, p.Tag, p.Left = repo.String(), repo.Traits().Registry, artifact.ProbeTag(id), []string{}
	err := p.prepare(id)
	if err != nil {
		return p.Probe, err
	}
	p.run(ctx)
	p.cleanUp(ctx)
	return p.Probe, ctx.Err()
}

// prepare creates the content. It is different in each run, so that a run never deletes
// content of another run.
func (p *probe) prepare(id string) (err error) {
	if p.version, err = provider.ParseVersion("0.0.0-probe-" + id); err != nil {
		return err
	}
	var b bytes.Buffer
	archive := zip.NewWriter(&b)
	header := &zip.FileHeader{Name: "terraform-provider-" + probedProvider.Type}
	header.SetMode(0o755)
	file, err := archive.CreateHeader(header)
	if err == nil {
		_, err = file.Write([]byte(probeNote + id + "\n"))
	}
	if err == nil {
		err = archive.Close()
	}
	p.zip = b.Bytes()
	return err
}

// run performs the checks. Later checks depend on the content that earlier checks pushed.
func (p *probe) run(ctx context.Context) {
	blob := ocispec.Descriptor{MediaType: artifact.MediaTypeZip, Digest: digest.FromBytes(p.zip), Size: int64(len(p.zip))}
	p.add("upload", p.repo.PushBlob(ctx, blob, bytes.NewReader(p.zip)))
	if p.Checks[0].Result != CheckWorks {
		p.skip("requires an upload", "provider-manifest", "tag-list", "referrers", "document", "decision", "denial", "sync-record", "move-tag", "delete-tag", "blob-head", "blob-range", "manifest-head", "delete-manifest")
		return
	}
	index, err := p.pushRelease(ctx, blob)
	if err == nil {
		p.checkTagList(ctx)
		p.checkReferrers(ctx, index.Descriptor)
		p.checkDenial(ctx, index.Descriptor)
	} else {
		p.skip(requiresRelease, "tag-list", "referrers", "document", "decision", "denial")
	}
	p.checkTags(ctx)
	p.checkBlob(ctx, blob)
	if err != nil {
		p.skip(requiresRelease, "manifest-head", "delete-manifest")
		return
	}
	// The tag already points to the index, so it is read, but not written.
	err = p.repo.PushTag(ctx, index, p.Tag, "")
	p.addHelpful("manifest-head", err, p.repo.Traits().Missing().ManifestHead, getInstead)
	p.add("delete-manifest", p.repo.Traits().DeleteManifest(ctx, index.Descriptor.Digest, p.Tag))
}

const (
	requiresRelease = "requires the manifests of a provider"
	getInstead      = "GET requests instead"
)

// add adds the result of a check. If the error can have other causes than a missing feature,
// the result is unknown.
func (p *probe) add(name string, err error) {
	c := Check{Name: name, Result: CheckWorks, err: err}
	switch {
	case err == nil:
	case name == "upload" || isRefusal(err):
		c.Result, c.Affects = CheckFails, rules[name].affects
	default:
		c.Result = CheckUnknown
	}
	if err != nil {
		c.Details = reason(err)
	}
	p.Checks = append(p.Checks, c)
}

// reason returns the registry's response or behavior or, for other errors, the whole error.
func reason(err error) string {
	if response, ok := errors.AsType[*repository.ResponseError](err); ok {
		err = response
	}
	if errors.Is(err, repository.ErrNoReferrersList) {
		err = repository.ErrNoReferrersList
	}
	return strings.TrimSuffix(err.Error(), ".")
}

func (p *probe) addFallback(name, details string) {
	p.Checks = append(p.Checks, Check{Name: name, Result: CheckFallback, Details: details})
}

// addHelpful adds the result of a check for a feature that only makes requests faster.
func (p *probe) addHelpful(name string, err error, isMissing bool, instead string) {
	if err == nil && isMissing {
		p.addFallback(name, instead)
		return
	}
	p.add(name, err)
}

// addManifest adds the result of pushing a manifest. own is the digest of the manifest with
// the media types of the artifact format. See [artifact.Generic].
func (p *probe) addManifest(name string, own digest.Digest, err error) {
	if err == nil && !p.repo.hasAccepted(own) {
		p.addFallback(name, "common media types instead")
		return
	}
	p.add(name, err)
}

// skip adds unknown results for checks that can't be performed.
func (p *probe) skip(reason string, names ...string) {
	for _, name := range names {
		p.Checks = append(p.Checks, Check{Name: name, Result: CheckUnknown, Details: reason})
	}
}

// isRefusal reports whether an error shows that a registry doesn't support something, as
// opposed to an error that can have other causes.
func isRefusal(err error) bool {
	return repository.IsPermanent(err) || errors.Is(err, errIgnored) || errors.Is(err, repository.ErrNoReferrersList) || errors.Is(err, repository.ErrTagNotDeleted)
}

// errIgnored means that a successful request had no effect.
var errIgnored = errors.New("the registry accepts the request, but ignores it")

// pushRelease pushes a release like publish.
func (p *probe) pushRelease(ctx context.Context, blob ocispec.Descriptor) (artifact.Blob, error) {
	name := fmt.Sprintf("terraform-provider-%s_%s_linux_amd64.zip", probedProvider.Type, p.version)
	sums := fmt.Sprintf("terraform-provider-%s_%s_SHA256SUMS", probedProvider.Type, p.version)
	release := provider.Release{
		Address: probedProvider, Version: p.version,
		Packages: []provider.Package{{Platform: provider.Platform{OS: "linux", Arch: "amd64"}, Filename: name, Digest: blob.Digest, Size: blob.Size}},
		Documents: []provider.Document{
			artifact.NewDocument(sums, artifact.MediaTypeSums, []byte(blob.Digest.Encoded()+"  "+name+"\n")),
			artifact.NewDocument(sums+".sig", artifact.MediaTypeSignature, []byte(probeNote)),
			artifact.NewDocument(sums+".asc", artifact.MediaTypeKeys, []byte(probeNote)),
		},
	}
	var packed artifact.Packed
	var own digest.Digest
	for _, generic := range []bool{false, true} {
		var err error
		if packed, err = artifact.Pack(release, artifact.Options{Generic: generic}); err != nil {
			return packed.Index, err
		}
		if own == "" {
			own = packed.Index.Descriptor.Digest
		}
		_, _, err = repository.Push(ctx, p.repo, packed, repository.Inspection{Tag: p.Tag}, repository.PushOptions{})
		if generic || !repository.RefusesTypes(err) {
			p.addManifest("provider-manifest", own, err)
			return packed.Index, err
		}
	}
	return packed.Index, nil
}

// checkTagList checks whether the list of tags contains a new tag.
func (p *probe) checkTagList(ctx context.Context) {
	tags, err := p.repo.Tags(ctx)
	if err == nil && !slices.Contains(tags, p.Tag) {
		err = fmt.Errorf("%w: the list does not contain the tag %s", errIgnored, p.Tag)
	}
	p.add("tag-list", err)
}

// checkReferrers attaches an SBOM and a decision to the index.
func (p *probe) checkReferrers(ctx context.Context, index ocispec.Descriptor) {
	document := artifact.NewDocument("probe.spdx.json", artifact.MediaTypeSPDX, []byte(`{"spdxVersion":"SPDX-2.3"}`))
	referrer, err := artifact.PackReferrer(document, index)
	if err == nil {
		_, err = repository.Attach(ctx, p.repo, []provider.Document{document}, index)
	}
	if err == nil {
		var found []provider.Document
		if found, err = repository.Documents(ctx, p.repo, index.Digest); err == nil && len(found) == 0 {
			err = fmt.Errorf("%w: the referrers do not include the SBOM", errIgnored)
		}
	}
	_, hasAPI, refused := p.repo.Traits().Referrers(ctx, index.Digest)
	switch {
	case refused != nil:
		p.add("referrers", refused)
	case errors.Is(err, repository.ErrNoReferrersList), errors.Is(err, errIgnored):
		p.add("referrers", err)
	case hasAPI:
		p.add("referrers", nil)
	case err == nil:
		p.addFallback("referrers", "a tag sha256-… instead of the referrers API")
	default:
		p.skip("requires a document", "referrers")
	}
	p.addManifest("document", referrer.Manifest.Descriptor.Digest, err)

	decision := p.decision(artifact.DecisionPromote, artifact.VerdictAllow)
	packed, err := decision.Pack(index, nil)
	if err == nil {
		err = repository.Record(ctx, p.repo, decision, index, nil)
	}
	p.addManifest("decision", packed.Manifest.Descriptor.Digest, err)
}

func (p *probe) decision(kind, verdict string) artifact.Decision {
	d := repository.NewDecision(p.repo, kind, verdict, probedProvider, p.version)
	d.Reason = "tofu-oci finds out what the registry supports"
	return d
}

// checkDenial stores a denial under a tag.
func (p *probe) checkDenial(ctx context.Context, index ocispec.Descriptor) {
	packed, err := p.decision(artifact.DecisionDeny, artifact.VerdictDeny).Pack(index, nil)
	if err == nil {
		_, err = repository.TagDecision(ctx, p.repo, p.Tag+"-denied", packed)
	}
	p.addManifest("denial", packed.Manifest.Descriptor.Digest, err)
}

// checkTags writes a sync record, changes it, and deletes one of its tags.
func (p *probe) checkTags(ctx context.Context) {
	// 1. Write the record.
	tag, now := p.Tag+"-sync", time.Now()
	record := artifact.SyncRecord{Unwanted: map[provider.Version]time.Time{p.version: now}}
	edit := func(r *artifact.SyncRecord) { *r = record.Clone() }
	own, _, err := record.Pack()
	if err == nil {
		err = repository.WriteSyncRecordTo(ctx, p.repo, tag, edit)
	}
	p.addManifest("sync-record", own.Descriptor.Digest, err)
	if err != nil {
		p.skip("requires a sync record", "move-tag", "delete-tag")
		return
	}
	// 2. Change it, which moves the tag.
	record.Pruned = map[provider.Version]time.Time{p.version: now}
	p.add("move-tag", repository.WriteSyncRecordTo(ctx, p.repo, tag, edit))
	// 3. Delete a second tag of the same manifest.
	stored, err := repository.Inspect(ctx, p.repo, tag, repository.DepthIndex)
	if err == nil {
		err = p.repo.PushTag(ctx, artifact.Blob{Descriptor: stored.Descriptor, Bytes: stored.Bytes}, p.Tag+"-copy", "")
	}
	if err != nil {
		p.Checks = append(p.Checks, Check{Name: "delete-tag", Result: CheckUnknown, Details: "writing a tag to delete: " + reason(err), err: err})
		return
	}
	err = p.repo.Traits().DeleteTag(ctx, p.Tag+"-copy", stored.Digest)
	if err == nil {
		stored, err = repository.Inspect(ctx, p.repo, tag, repository.DepthIndex)
	}
	if err == nil && (!stored.Exists() || stored.Dangling) {
		p.addFallback("delete-tag", "the registry deletes all tags of the manifest; tofu-oci writes the others again")
		return
	}
	p.add("delete-tag", err)
}

// checkBlob requests the size of a blob, and then its first byte.
func (p *probe) checkBlob(ctx context.Context, blob ocispec.Descriptor) {
	_, err := p.repo.Stat(ctx, blob)
	p.addHelpful("blob-head", err, p.repo.Traits().Missing().BlobHead, getInstead)
	_, err = p.repo.Stat(ctx, ocispec.Descriptor{Digest: blob.Digest}) // without a size, a range is requested
	p.addHelpful("blob-range", err, p.repo.Traits().Missing().BlobRanges, "one connection for each blob instead")
}
