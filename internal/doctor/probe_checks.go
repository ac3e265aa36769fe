package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

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
	err := repository.PushAccepted(false, func(generic bool) (err error) {
		if packed, err = artifact.Pack(release, artifact.Options{Generic: generic}); err != nil {
			return err
		}
		if !generic {
			own = packed.Index.Descriptor.Digest
		}
		_, _, err = repository.Push(ctx, p.repo, packed, repository.Inspection{Tag: p.Tag}, repository.PushOptions{})
		return err
	})
	p.addManifest("provider-manifest", own, err)
	return packed.Index, err
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
		_, err = repository.Attach(ctx, p.repo, []provider.Document{document}, artifact.Blob{Descriptor: index})
	}
	if err == nil {
		var found []provider.Document
		if found, err = repository.Documents(ctx, p.repo, index.Digest); err == nil && len(found) == 0 {
			err = fmt.Errorf("%w: the referrers do not include the SBOM", errIgnored)
		}
	}
	_, hasAPI, refused := p.repo.Capabilities().Referrers(ctx, index.Digest)
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
	err = p.repo.Capabilities().DeleteTag(ctx, p.Tag+"-copy", stored.Digest)
	if err == nil {
		stored, err = repository.Inspect(ctx, p.repo, tag, repository.DepthIndex)
	}
	if err == nil && (!stored.Exists() || stored.Dangling) {
		p.addFallback("delete-tag", "the registry deletes all tags of the manifest, so tofu-oci writes the other tags again")
		return
	}
	p.add("delete-tag", err)
}

// checkBlob requests the size of a blob, and then its first byte.
func (p *probe) checkBlob(ctx context.Context, blob ocispec.Descriptor) {
	_, err := p.repo.Stat(ctx, blob)
	p.addHelpful("blob-head", err, p.repo.Capabilities().Missing().BlobHead, getInstead)
	_, err = p.repo.Stat(ctx, ocispec.Descriptor{Digest: blob.Digest}) // without a size, a range is requested
	p.addHelpful("blob-range", err, p.repo.Capabilities().Missing().BlobRanges, "one connection for each blob instead")
}
