package exec

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/store"
)

// mirrored describes a mirror directory and its content.
type mirrored struct {
	*store.Mirror
	providers []provider.Address
	// left lists the providers without a package in the mirror, which can exist in the
	// user's filesystem mirrors.
	left []provider.Address
	// hashed reports whether the lock files contain h1: hashes of all packages.
	hashed bool
	// packed lists the packages that are zips.
	packed []selection
}

// unlink removes links to unpacked packages in the store if the command will unpack a
// zip. If a link existed, Terraform, and OpenTofu before 1.10, would unpack the zip
// into the target of the link. These links are not needed, because their packages don't
// match the lock file.
func (m mirrored) unlink(c userConfig, s *store.Store) error {
	data := c.env.Getenv("TF_DATA_DIR")
	if data == "" {
		data = ".terraform"
	}
	if !filepath.IsAbs(data) {
		data = filepath.Join(c.dir, data)
	}
	for _, p := range m.packed {
		path := filepath.Join(data, "providers", filepath.FromSlash(p.path(false)))
		target, err := os.Readlink(path)
		if err != nil {
			continue // not a link
		}
		if inside, err := filepath.Rel(s.Dir(), target); err != nil || !filepath.IsLocal(inside) {
			continue
		}
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

// pluginCacheDir returns the plugin cache directory for the command, or "" if the
// command should not use a plugin cache. If the lock file contains the h1: hash of a
// package, OpenTofu hashes the package once in a plugin cache, but twice in a mirror.
// For Terraform, the opposite is true.
func (m mirrored) pluginCacheDir(t tool) string {
	if t != toolOpenTofu || !m.hashed || len(m.providers) == 0 {
		return ""
	}
	return m.PluginCacheDir()
}

// maxRounds is the maximum number of attempts to fetch packages that other processes
// remove.
const maxRounds = 5

// mirror stores the selected packages and creates a mirror that contains them.
func (o Options) mirror(ctx context.Context, c userConfig, wanted []selection) (mirrored, error) {
	for round := 1; ; round++ {
		// 1. Find the packages in the store, or fetch them.
		found, err := o.packages(ctx, c, wanted)
		if err != nil {
			return mirrored{}, err
		}
		// 2. Create the mirror directory.
		m := mirrored{hashed: true}
		var packages []store.MirrorPackage
		for i, f := range found {
			if f.Zip == "" {
				m.left = append(m.left, wanted[i].Address) // to the user's configuration
				continue
			}
			s, packed := wanted[i], wanted[i].packed(f.Hashes)
			packages = append(packages, store.MirrorPackage{Path: s.path(packed), Zip: f.Zip, Packed: packed})
			m.hashed = m.hashed && !packed && s.hasH1(f.Hashes)
			if packed {
				m.packed = append(m.packed, s)
			}
			if !slices.Contains(m.providers, s.Address) {
				m.providers = append(m.providers, s.Address)
			}
		}
		m.Mirror, err = o.Store.Mirror(ctx, packages)
		if !errors.Is(err, store.ErrNotCached) || round == maxRounds {
			return m, err
		}
	}
}

// packages finds or fetches each selected package. Packages that are left to the user's
// configuration have no digest.
func (o Options) packages(ctx context.Context, c userConfig, wanted []selection) ([]store.Known, error) {
	acquire := schedule.NewTransfers(o.Concurrency).Acquire
	type result struct {
		store.Known
		contacted bool
		error
	}
	found := make([]store.Known, 0, len(wanted))
	var problems []error
	contacted := map[provider.Address]bool{}
	var kept []selection
	schedule.Each(ctx, len(wanted), func(ctx context.Context, i int) (result, bool) {
		k, ok, refused := o.known(ctx, wanted[i])
		if ok {
			return result{k, false, nil}, true
		}
		k, err := o.fetch(ctx, wanted[i], refused, acquire)
		if err != nil && o.ignores(c, wanted[i].Address, err) {
			o.Left(wanted[i].Address, "it is missing, and the configuration does not require it")
			err = nil
		}
		return result{k, true, err}, true
	}, func(r result) {
		if s := wanted[len(found)]; r.contacted {
			contacted[s.Address] = true
		} else {
			kept = append(kept, s)
		}
		found = append(found, r.Known)
		if r.error != nil {
			problems = append(problems, r.error)
		}
	})
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("fetching locked packages: %w", err)
	}
	return found, errors.Join(errors.Join(problems...), o.checkDenied(ctx, kept, contacted))
}

// checkDenied returns errors for denied packages in the store. It checks only providers
// whose repositories were contacted.
func (o Options) checkDenied(ctx context.Context, kept []selection, contacted map[provider.Address]bool) error {
	list := provider.CapabilitiesOf(o.Source).Denied
	if list == nil {
		return nil
	}
	var problems []error
	for _, s := range kept {
		if !contacted[s.Address] {
			continue
		}
		denied, _ := list(ctx, s.Address) // fetch reports the error
		if slices.Contains(denied, s.Version) {
			_, err := o.Source.Release(ctx, s.Address, s.Version, s.Platform)
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

// known finds a package in the store. If Verify rejects the stored metadata, refused is
// the error that Verify returned, and the source might have newer metadata.
func (o Options) known(ctx context.Context, s selection) (k store.Known, ok bool, refused error) {
	for _, k := range o.Store.Known(s.name()) {
		if s.accepts(k.Zip, k.Hashes) != nil || !has(ctx, o.Store, k, s.packed(k.Hashes)) {
			continue
		}
		if o.Verify == nil {
			return k, true, nil
		}
		release, ok := restore(s, k)
		if !ok {
			continue
		}
		if _, refused = o.Verify(ctx, release); refused == nil {
			return k, true, nil
		}
	}
	return store.Known{}, false, refused
}

func has(ctx context.Context, s *store.Store, k store.Known, packed bool) bool {
	if packed {
		zip, ok := s.Blob(ctx, k.Zip)
		return ok && zip.Close() == nil
	}
	tree, ok := s.Tree(ctx, k.Zip)
	return ok && tree.Close() == nil
}
