package publish

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// union is the release that the tag will name: the wanted packages, and those
// that it held already for other platforms.
type union struct {
	release provider.Release
	// send are the platforms whose zips come from the source; the others are
	// known to be whole in the repository.
	send []provider.Platform
}

// merge adds to the release what the tag holds beside it. The release's
// evidence covers all of it, or there is a conflict.
func (p *publisher) merge(ctx context.Context, old *stored, r provider.Release) (union, error) {
	u := union{release: r, send: r.Platforms()}
	u.release.Packages = slices.Clone(r.Packages)
	for i, pkg := range r.Packages {
		// An h1 that was computed once need not be computed again.
		if t, there := old.index.Target(pkg.Platform); there && pkg.H1 == "" && old.held[pkg.Platform].manifest.Zip.Digest == pkg.Digest {
			u.release.Packages[i].H1 = t.H1()
		}
	}
	var others []provider.Platform
	if old.digest != "" && old.foreign(p.address) == "" {
		others = slices.DeleteFunc(old.index.Platforms(), func(x provider.Platform) bool { return slices.Contains(u.send, x) })
	}
	if len(others) == 0 {
		return u, nil
	}
	kept, lost, err := p.readOthers(ctx, old, others)
	if err != nil {
		return u, err
	}
	if u.release, err = p.addStored(u.release, kept); err != nil {
		return u, err
	}
	u.release.Packages = append(u.release.Packages, lost...)
	for _, pkg := range lost {
		u.send = append(u.send, pkg.Platform)
	}
	slices.SortFunc(u.release.Packages, func(a, b provider.Package) int { return a.Platform.Compare(b.Platform) })
	return u, nil
}

// readOthers gives the stored release of other platforms, and from the source
// the packages of those that the repository has lost something of.
func (p *publisher) readOthers(ctx context.Context, old *stored, others []provider.Platform) (kept provider.Release, lost []provider.Package, err error) {
	if err := p.inspect(ctx, old, others); err != nil {
		return kept, nil, err
	}
	var whole, damaged []provider.Platform
	for _, platform := range others {
		if old.held[platform].whole() {
			whole = append(whole, platform)
		} else {
			damaged = append(damaged, platform)
		}
	}
	if len(damaged) > 0 {
		fresh, err := p.src.Release(ctx, p.address, p.version, damaged...)
		if err != nil {
			return kept, nil, fmt.Errorf("restoring what the repository has lost of %s: %w", damaged[0], err)
		}
		lost = fresh.Packages
		var reasons []string
		for _, pkg := range lost {
			if _, why := old.comparePackage(pkg); why != "" {
				reasons = append(reasons, why)
			}
		}
		if len(reasons) > 0 && !p.options.Force {
			return kept, nil, p.conflict(reasons)
		}
	}
	if len(whole) > 0 {
		repository := func(provider.Address) (source.Repository, error) { return p.repo, nil }
		kept, err = source.NewOCI(repository).Release(ctx, p.address, p.version, whole...)
	}
	return kept, lost, err
}

// addStored adds the stored packages to the release. SHA256SUMS has to list each
// of them unchanged; by force, those that it does not list are dropped.
func (p *publisher) addStored(r, kept provider.Release) (provider.Release, error) {
	if _, has := r.Attachment(artifact.MediaTypeSums); !has && len(kept.Attachments) > 0 {
		// Evidence is not lost by publishing a platform without any.
		r.Attachments = kept.Attachments
	}
	if len(r.Protocols) == 0 {
		r.Protocols = kept.Protocols
	}
	listed, has := r.Attachment(artifact.MediaTypeSums)
	if !has {
		r.Packages = slices.Concat(r.Packages, kept.Packages)
		return r, nil
	}
	file, err := sums.Parse(listed.Bytes)
	if err != nil {
		return r, fmt.Errorf("%s: %w", listed.Name, err)
	}
	var reasons []string
	for _, pkg := range r.Packages {
		if err := file.Check(pkg.Filename, pkg.Digest); err != nil {
			reasons = append(reasons, fmt.Sprintf("the stored %s: %v", listed.Name, err))
		}
	}
	for _, pkg := range kept.Packages {
		if err := file.Check(pkg.Filename, pkg.Digest); err != nil {
			reasons = append(reasons, fmt.Sprintf("the new %s does not fit %s, which is stored: %v", listed.Name, pkg.Platform, err))
			continue
		}
		r.Packages = append(r.Packages, pkg)
	}
	if len(reasons) > 0 && !p.options.Force {
		return r, p.conflict(reasons)
	}
	return r, nil
}

// readBack compares the tag with what this run made of it. Another run that has
// moved it since may have taken our packages in; else they are merged again.
func (p *publisher) readBack(ctx context.Context, result Result) error {
	now, err := p.readStored(ctx, result.Tag)
	if err != nil {
		return fmt.Errorf("reading the tag back: %w", err)
	}
	if now.digest == result.Digest {
		return nil
	}
	if now.digest == "" {
		return fmt.Errorf("reading the tag back: %w", errTagLost)
	}
	for _, done := range result.Packages {
		t, there := now.index.Target(done.Package.Platform)
		if d, known := t.Digest(); !there || !known || d != done.Package.Digest {
			return artifact.ErrTagMoved
		}
	}
	return nil
}

// errTagLost: a registry took the tag and does not have it.
var errTagLost = errors.New("the repository took the tag and does not show it")
