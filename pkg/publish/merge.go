package publish

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// union is the release that the tag will name: what the source has, and what
// the tag holds beside it.
type union struct {
	release provider.Release
	// send are the platforms whose packages come from the source. The others
	// are whole in the repository.
	send []provider.Platform
}

// merge adds to the release what the tag holds beside it. The evidence covers
// all of it, or there is a conflict.
func (p *publisher) merge(ctx context.Context, old *stored, r provider.Release) (union, error) {
	if old.digest == "" || old.foreign(p.address) != "" {
		r.Packages = slices.Clone(r.Packages)
		return union{release: r, send: r.Platforms()}, nil
	}
	// 1. What is there stays, if it is whole and the source has nothing else.
	kept, lost, err := p.readKept(ctx, old, r)
	if err != nil {
		return union{}, err
	}
	u := union{release: r}
	u.release.Packages = nil
	for _, pkg := range slices.Concat(r.Packages, lost) {
		if !slices.Contains(kept.Platforms(), pkg.Platform) {
			p.noteH1(old, pkg)
			pkg.Attachments = withStored(pkg, old.held[pkg.Platform])
			u.release.Packages = append(u.release.Packages, pkg)
			u.send = append(u.send, pkg.Platform)
		}
	}
	if len(r.Protocols) == 0 {
		u.release.Protocols = old.index.Protocols()
	}
	// 2. One set of evidence is for all of it.
	kept.Packages = withNewAttachments(kept.Packages, r.Packages)
	if err := p.addKept(&u.release, kept); err != nil {
		return union{}, err
	}
	dropOwnSums(&u.release)
	slices.SortFunc(u.release.Packages, func(a, b provider.Package) int { return a.Platform.Compare(b.Platform) })
	return u, nil
}

// noteH1 keeps what the tag says of a zip's h1, which is worth as much as what a
// source says: it saves reading a zip that is there, and no zip goes by it that
// is sent.
func (p *publisher) noteH1(old *stored, pkg provider.Package) {
	t, there := old.index.Target(pkg.Platform)
	if there && t.H1() != "" && old.held[pkg.Platform].manifest.Zip.Digest == pkg.Digest {
		p.h1[pkg.Digest] = t.H1()
	}
}

// readKept gives the stored packages that stay, and from the source those that
// the repository has lost something of and that were not asked for.
func (p *publisher) readKept(ctx context.Context, old *stored, r provider.Release) (kept provider.Release, lost []provider.Package, err error) {
	if err := p.inspect(ctx, old, old.index.Platforms()); err != nil {
		return kept, nil, err
	}
	wanted := map[provider.Platform]digest.Digest{}
	for _, pkg := range r.Packages {
		wanted[pkg.Platform] = pkg.Digest
	}
	var whole, damaged []provider.Platform
	for _, platform := range old.index.Platforms() {
		h, d := old.held[platform], wanted[platform]
		switch {
		case h.whole() && (d == "" || d == h.manifest.Zip.Digest):
			whole = append(whole, platform)
		case d == "":
			damaged = append(damaged, platform)
		}
	}
	if len(damaged) > 0 {
		if lost, err = p.restore(ctx, old, damaged); err != nil {
			return kept, nil, err
		}
	}
	if len(whole) > 0 {
		index := pinned{p.repo, artifact.Tag(p.version), old.digest}
		repository := func(provider.Address) (source.Repository, error) { return index, nil }
		kept, err = source.NewOCI(repository).Release(ctx, p.address, p.version, whole...)
	}
	return kept, lost, err
}

// pinned is a repository in which a tag does not move.
type pinned struct {
	Reader
	tag   string
	index digest.Digest
}

// Manifest reads the index that the tag was at.
func (r pinned) Manifest(ctx context.Context, reference string) (ocispec.Descriptor, []byte, error) {
	if reference == r.tag {
		reference = r.index.String()
	}
	return r.Reader.Manifest(ctx, reference)
}

// restore asks the source for packages that the repository has lost something
// of: the tag is written whole or not at all.
func (p *publisher) restore(ctx context.Context, old *stored, damaged []provider.Platform) ([]provider.Package, error) {
	fresh, err := p.src.Release(ctx, p.address, p.version, damaged...)
	if lacking, ok := errors.AsType[*provider.PlatformError](err); ok {
		if p.options.Force {
			p.dropped = append(p.dropped, damaged...)
			return nil, nil
		}
		return nil, p.conflict([]string{fmt.Sprintf("the repository has lost part of the package for %s, and the source does not have it: publish it together with these", lacking.Wanted)})
	}
	if err != nil {
		return nil, fmt.Errorf("restoring what the repository has lost of %s: %w", damaged[0], err)
	}
	var reasons []string
	for _, pkg := range fresh.Packages {
		if _, why := old.comparePackage(pkg); why != "" {
			reasons = append(reasons, why)
		}
	}
	if len(reasons) > 0 && !p.options.Force {
		return nil, p.conflict(reasons)
	}
	return fresh.Packages, nil
}

// addKept adds the stored packages to the release. SHA256SUMS has to list each
// of them unchanged; by force, those that a publisher's does not list are
// dropped, and one that we made is made for all of them.
func (p *publisher) addKept(r *provider.Release, kept provider.Release) error {
	all := slices.Concat(r.Packages, kept.Packages)
	listed, has := r.Attachment(artifact.MediaTypeSums)
	if !has || listed.Generated {
		why, err := takeStoredEvidence(r, kept, all)
		if err != nil || why == "" {
			r.Packages = all
			return err
		}
		if !p.options.Force {
			return p.conflict([]string{why})
		}
		p.overridden = true
		if r.Packages = all; has {
			r.Attachments = generatedSums(*r)
		}
		return nil
	}
	file, err := sums.Parse(listed.Bytes)
	if err != nil {
		return fmt.Errorf("%s: %w", listed.Name, err)
	}
	var reasons []string
	for _, pkg := range kept.Packages {
		if err := file.Check(pkg.Filename, pkg.Digest); err != nil {
			reasons = append(reasons, fmt.Sprintf("the new %s does not fit %s, which is stored: %v", listed.Name, pkg.Platform, err))
			p.dropped = append(p.dropped, pkg.Platform)
			continue
		}
		r.Packages = append(r.Packages, pkg)
	}
	if len(reasons) > 0 && !p.options.Force {
		return p.conflict(reasons)
	}
	return nil
}

// takeStoredEvidence is for a source without a publisher's sums: what is stored
// stays if it lists all packages, and else sums are made for all of them. A
// signature is not given up for that: conflict says why.
func takeStoredEvidence(r *provider.Release, kept provider.Release, all []provider.Package) (conflict string, err error) {
	stored, has := kept.Attachment(artifact.MediaTypeSums)
	_, signed := kept.Attachment(artifact.MediaTypeSignature)
	if !has {
		if _, generated := r.Attachment(artifact.MediaTypeSums); generated {
			r.Attachments = generatedSums(provider.Release{Address: r.Address, Version: r.Version, Packages: all})
		}
		return "", nil
	}
	file, err := sums.Parse(stored.Bytes)
	if err != nil {
		return "", fmt.Errorf("the stored %s: %w", stored.Name, err)
	}
	for _, pkg := range all {
		err := file.Check(pkg.Filename, pkg.Digest)
		if err == nil {
			continue
		}
		if _, generated := r.Attachment(artifact.MediaTypeSums); signed || !generated {
			return fmt.Sprintf("the stored %s does not fit %s, and the source has none to replace it: %v", stored.Name, pkg.Platform, err), nil
		}
		r.Attachments = generatedSums(provider.Release{Address: r.Address, Version: r.Version, Packages: all})
		return "", nil
	}
	r.Attachments = kept.Attachments
	return "", nil
}

func generatedSums(r provider.Release) []provider.Attachment {
	return []provider.Attachment{source.GeneratedSums(r)}
}

// withNewAttachments adds to stored packages the documents that the source has
// for them and the repository has not.
func withNewAttachments(kept, fresh []provider.Package) []provider.Package {
	kept = slices.Clone(kept)
	for i, k := range kept {
		for _, f := range pick(fresh, []provider.Platform{k.Platform}) {
			for _, a := range f.Attachments {
				if !slices.ContainsFunc(kept[i].Attachments, func(b provider.Attachment) bool { return b.Name == a.Name }) {
					kept[i].Attachments = append(slices.Clone(kept[i].Attachments), a)
				}
			}
		}
	}
	return kept
}

// withStored adds to a package, of which the repository has lost something, the
// documents that it still has and the source has not. Their bytes stay where
// they are.
func withStored(pkg provider.Package, h held) []provider.Attachment {
	as := slices.Clone(pkg.Attachments)
	if !h.found || h.manifest.Zip.Digest != pkg.Digest {
		return as
	}
	for _, d := range h.manifest.Attachments {
		name := d.Annotations[ocispec.AnnotationTitle]
		isNew := !slices.ContainsFunc(as, func(a provider.Attachment) bool { return a.Name == name })
		if isNew && !artifact.Shared(d.MediaType, name) && !slices.Contains(h.missing, d.Digest) {
			as = append(as, provider.Attachment{Name: name, MediaType: d.MediaType, Digest: d.Digest, Size: d.Size})
		}
	}
	return as
}

// dropOwnSums takes from packages the sums that each had for itself alone, as
// other publishers write them, when one document is for all of them now.
func dropOwnSums(r *provider.Release) {
	if _, shared := r.Attachment(artifact.MediaTypeSums); !shared {
		return
	}
	for i, pkg := range r.Packages {
		r.Packages[i].Attachments = slices.DeleteFunc(slices.Clone(pkg.Attachments), func(a provider.Attachment) bool {
			return artifact.Shared(a.MediaType, a.Name)
		})
	}
}
