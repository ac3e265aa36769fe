package publish

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
)

// readHeld looks at all that the tag holds, and asks the source for what of it
// is damaged and was not asked for: the tag is written whole or not at all. When
// nothing will be written, nothing more is read.
func (p publisher) readHeld(ctx context.Context, old repository.Inspection, r provider.Release) (held, error) {
	h := held{Inspection: old, foreign: p.foreign(old), signs: p.options.Signer != nil, left: map[provider.Platform][]provider.Document{}}
	if !p.holds(old) {
		return h, nil
	}
	var err error
	if h.Inspection, err = old.Deeper(ctx, p.repo, max(p.options.Check.Depth(), repository.DepthBlobs), r.Platforms()...); err != nil {
		return h, err
	}
	if status, conflicts := compare(h, r); status == Unchanged || conflicts != nil && !p.options.Force {
		return h, nil
	}
	if h.Inspection, err = h.Deeper(ctx, p.repo, max(p.options.Check.Depth(), repository.DepthBlobs)); err != nil {
		return h, err
	}
	whole, damaged := h.sort(r, p.repo)
	if h.restored, h.lost, err = p.restore(ctx, damaged); err != nil || len(whole) == 0 {
		return h, err
	}
	h.kept, err = oci.FromInspection(ctx, p.repo, h.Inspection, p.address, p.version, whole)
	if err != nil {
		err = &provider.Error{Doing: "reading", Address: p.address, Version: p.version, Err: err}
	}
	h.resigned = p.signedByUs(h.kept)
	return h, err
}

// sort tells the platforms that stay as they are from those that are damaged, or
// go by the name of another package, and are not in the release, and keeps what
// is left of the others.
func (h *held) sort(r provider.Release, repo repository.Reader) (whole, damaged []provider.Platform) {
	wanted := map[provider.Platform]digest.Digest{}
	for _, pkg := range r.Packages {
		wanted[pkg.Platform] = pkg.Digest
	}
	for _, platform := range h.Index.Platforms() {
		f, d := h.Platforms[platform], wanted[platform]
		named := misnamed(f, r.Address, r.Version) == nil
		same := d == "" || f.Err == nil && d == f.Manifest.Zip.Digest
		switch {
		case same && f.Whole() && named:
			whole = append(whole, platform)
			continue
		case d == "":
			damaged = append(damaged, platform)
		}
		if same && named {
			h.left[platform] = left(f, repo)
		}
	}
	return whole, damaged
}

// left gives the documents about a package that are still there.
func left(f repository.Found, repo repository.Reader) []provider.Document {
	var documents []provider.Document
	for _, layer := range f.Manifest.Documents {
		d := repository.DocumentAt(repo, layer, "")
		if d.Scope == provider.ScopePackage && !slices.Contains(f.Missing, layer.Digest) {
			documents = append(documents, d)
		}
	}
	return documents
}

// restore asks the source for packages that the repository has lost something of.
func (p publisher) restore(ctx context.Context, damaged []provider.Platform) (restored []provider.Package, lost []provider.Platform, err error) {
	if len(damaged) == 0 {
		return nil, nil, nil
	}
	fresh, err := p.src.Release(ctx, p.address, p.version, damaged...)
	if _, lacking := errors.AsType[*provider.PlatformError](err); lacking {
		return nil, damaged, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("restoring what the repository has lost of %s: %w", damaged[0], err)
	}
	return fresh.Packages, nil, nil
}
