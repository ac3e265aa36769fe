package publish

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/opencontainers/go-digest"

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
			pkg.H1 = p.knownH1(old, pkg)
			u.release.Packages = append(u.release.Packages, pkg)
			u.send = append(u.send, pkg.Platform)
		}
	}
	if len(r.Protocols) == 0 {
		u.release.Protocols = kept.Protocols
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

// knownH1 gives a package's h1 without computing it, where the source, the tag
// or an earlier round of this run tells.
func (p *publisher) knownH1(old *stored, pkg provider.Package) string {
	t, there := old.index.Target(pkg.Platform)
	if there && t.H1() != "" && old.held[pkg.Platform].manifest.Zip.Digest == pkg.Digest {
		p.h1[pkg.Digest] = t.H1()
	}
	return cmp.Or(pkg.H1, p.h1[pkg.Digest])
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
		repository := func(provider.Address) (source.Repository, error) { return p.repo, nil }
		kept, err = source.NewOCI(repository).Release(ctx, p.address, p.version, whole...)
	}
	return kept, lost, err
}

// restore asks the source for packages that the repository has lost something
// of: the tag is written whole or not at all.
func (p *publisher) restore(ctx context.Context, old *stored, damaged []provider.Platform) ([]provider.Package, error) {
	fresh, err := p.src.Release(ctx, p.address, p.version, damaged...)
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
// of them unchanged; by force, those that it does not list are dropped.
func (p *publisher) addKept(r *provider.Release, kept provider.Release) error {
	if len(kept.Packages) == 0 {
		return nil
	}
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
	}
	if !has {
		r.Packages = all
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
			r.Attachments = []provider.Attachment{source.GeneratedSums(provider.Release{Address: r.Address, Version: r.Version, Packages: all})}
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
		r.Attachments = []provider.Attachment{source.GeneratedSums(provider.Release{Address: r.Address, Version: r.Version, Packages: all})}
		return "", nil
	}
	r.Attachments = kept.Attachments
	return "", nil
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
