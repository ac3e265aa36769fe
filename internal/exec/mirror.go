package exec

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/store"
)

// mirrored describes a mirror directory and its content.
type mirrored struct {
	*store.Mirror
	providers []provider.Address
	// left lists the providers without a package in the mirror. These providers can
	// exist in the user's filesystem mirrors.
	left     []provider.Address
	packages []stored
}

// stored is a selected package that the store has.
type stored struct {
	selection
	store.CachedZip
}

// unlink removes links to unpacked packages in the store. tofu-oci 0.1.0 left these
// links in the data directory. Terraform, and OpenTofu before 1.10, would unpack zips
// into the targets of these links. OpenTofu 1.12 would refuse to install packages.
func (m mirrored) unlink(c userConfig, s *store.Store) error {
	for _, p := range m.packages {
		path := filepath.Join(cliconfig.ResolvePath(c.dir, c.dataDir()), filepath.FromSlash(p.installPath()))
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
		var m mirrored
		var packages []store.MirrorPackage
		for i, f := range found {
			if f.Zip == "" {
				m.left = append(m.left, wanted[i].Address) // to the user's configuration
				continue
			}
			s := wanted[i]
			packages = append(packages, store.MirrorPackage{Path: s.path(), Zip: f.Zip})
			m.packages = append(m.packages, stored{s, f})
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
func (o Options) packages(ctx context.Context, c userConfig, wanted []selection) ([]store.CachedZip, error) {
	acquire := schedule.NewTransfers(o.Concurrency).Acquire
	type result struct {
		store.CachedZip
		contacted bool
		error
	}
	found := make([]store.CachedZip, 0, len(wanted))
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
			o.Left(wanted[i].Address, "the package is missing, but the configuration does not require it")
			err = nil
		}
		return result{k, true, err}, true
	}, func(r result) {
		if s := wanted[len(found)]; r.contacted {
			contacted[s.Address] = true
		} else {
			kept = append(kept, s)
		}
		found = append(found, r.CachedZip)
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

// known finds a package in the store. It finds nothing if no hash is locked, because the
// store doesn't record sources, and the package could come from a different one. If Verify
// rejects the stored metadata, refused is the error that Verify returned, and the source
// might have newer metadata.
func (o Options) known(ctx context.Context, s selection) (k store.CachedZip, ok bool, refused error) {
	if len(s.locked) == 0 {
		return store.CachedZip{}, false, nil
	}
	for _, k := range o.Store.CachedZips(s.name()) {
		if s.accepts(k.Zip, k.Hashes) != nil || !has(ctx, o.Store, k) {
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
	return store.CachedZip{}, false, refused
}

func has(ctx context.Context, s *store.Store, k store.CachedZip) bool {
	zip, ok := s.Blob(ctx, k.Zip)
	return ok && zip.Close() == nil
}
