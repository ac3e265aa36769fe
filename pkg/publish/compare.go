package publish

import (
	"context"
	"fmt"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// ConflictError says that the tag holds something that a publish would have to
// destroy.
type ConflictError struct {
	Address provider.Address
	Version provider.Version
	// Reasons are sentences without their full stops, at least one.
	Reasons []string
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("conflict with what %s %s already is in the repository: %s", e.Address, e.Version, strings.Join(e.Reasons, "; "))
}

func (p *publisher) conflict(reasons []string) error {
	return &ConflictError{Address: p.address, Version: p.version, Reasons: reasons}
}

// compare holds the release against the tag. Sameness is the map from platform
// to zip digest and nothing else.
func (p *publisher) compare(ctx context.Context, old *stored, r provider.Release) (Status, error) {
	switch {
	case old.digest == "":
		return Created, nil
	case old.lost:
		return Healed, nil
	}
	var reasons []string
	status := Unchanged
	if why := old.foreign(p.address); why != "" {
		reasons = append(reasons, why)
	} else {
		if err := p.inspect(ctx, old, r.Platforms()); err != nil {
			return "", err
		}
		for _, pkg := range r.Packages {
			found, why := old.comparePackage(pkg)
			if why != "" {
				reasons = append(reasons, why)
			}
			if found == Extended || status == Unchanged {
				status = found
			}
		}
	}
	switch {
	case len(reasons) == 0:
		return status, nil
	case p.options.Force:
		return Replaced, nil
	}
	return "", p.conflict(reasons)
}

// comparePackage says what one package means for the tag, or why it conflicts.
func (s *stored) comparePackage(pkg provider.Package) (found Status, conflict string) {
	t, there := s.index.Target(pkg.Platform)
	if !there {
		return Extended, ""
	}
	h := s.held[pkg.Platform]
	if h.format != nil {
		return Healed, fmt.Sprintf("%s: %v", pkg.Platform, h.format)
	}
	was, known := h.manifest.Zip.Digest, h.found
	if !h.found {
		was, known = t.Digest()
	}
	if known && was != pkg.Digest {
		return Healed, fmt.Sprintf("%s is there with the zip %s, the source has %s", pkg.Platform, was, pkg.Digest)
	}
	if !h.whole() {
		return Healed, ""
	}
	return Unchanged, ""
}
