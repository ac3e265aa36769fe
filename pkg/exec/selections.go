package exec

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/configuration"
	"github.com/tofu-oci/tofu-oci/pkg/lock"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/store"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// selection is a version that lock files select.
type selection struct {
	provider.Address
	provider.Version
	provider.Platform
	// locked are the hashes of each lock file that selects it. A package has to match
	// one of each.
	locked [][]lockfile.Hash
}

// selections reads the lock files.
func (o Options) selections(ctx context.Context, c userConfig) ([]selection, error) {
	files, err := o.files(ctx, c)
	if err != nil {
		return nil, err
	}
	var all []selection
	for _, f := range files {
		for _, s := range f.Selections() {
			if _, developed := c.DevOverride(s.Address); developed {
				continue
			}
			i := slices.IndexFunc(all, func(other selection) bool { return other.Address == s.Address && other.Version == s.Version })
			if i < 0 {
				i = len(all)
				all = append(all, selection{Address: s.Address, Version: s.Version, Platform: o.Platform})
			}
			all[i].locked = append(all[i].locked, s.Hashes)
		}
	}
	slices.SortFunc(all, func(a, b selection) int {
		return cmp.Or(a.Address.Compare(b.Address), a.Version.Compare(b.Version))
	})
	return all, nil
}

// files are the lock files.
func (o Options) files(ctx context.Context, c userConfig) ([]*lockfile.File, error) {
	var files []*lockfile.File
	for _, path := range o.LockFiles {
		f, err := lockfile.Read(path)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	if len(o.LockFiles) > 0 {
		return files, nil
	}
	path := filepath.Join(c.dir, lock.Filename)
	f, err := lockfile.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		if o.Lock == nil {
			return nil, fmt.Errorf("%s: %w", path, lock.ErrNoFile)
		}
		f, err = o.lock(ctx, c)
		if errors.Is(err, configuration.ErrNoConfiguration) {
			if o.Dir == "" && o.saysItself() {
				return nil, nil
			}
			return nil, provider.Errorf(provider.Misuse, "%w and no configuration in %s", lock.ErrNoFile, c.dir)
		}
	}
	if err != nil {
		return nil, err
	}
	return []*lockfile.File{f}, nil
}

// lock creates the lock file of the command's directory.
func (o Options) lock(ctx context.Context, c userConfig) (*lockfile.File, error) {
	options := *o.Lock
	options.Verify, options.Configuration = o.Verify, o.Reading(c.env.Terraform)
	options.Skip = func(a provider.Address) bool {
		_, developed := c.DevOverride(a)
		return developed
	}
	change, err := lock.Directory(ctx, o.Source, c.dir, options)
	if errors.Is(err, configuration.ErrNoConfiguration) {
		return nil, err
	}
	o.Locked(change)
	if change.Incomplete {
		return nil, fmt.Errorf("%s was not written: %w", change.Path, lock.ErrIncomplete)
	}
	for _, p := range change.Providers {
		err = errors.Join(err, p.Err)
	}
	if err != nil {
		return nil, fmt.Errorf("creating %s: %w", change.Path, err)
	}
	return lockfile.Parse(change.Path, change.New)
}

// saysItself reports whether a command is one that says itself when a directory is
// empty, and has much to do that needs no providers.
func (o Options) saysItself() bool {
	t := toolOf(o.Command)
	return t == toolOpenTofu || t == toolTerraform
}

// name is that of the package in the store.
func (s selection) name() string {
	return fmt.Sprintf("%s %s %s", s.Address.ASCII(), s.Version, s.Platform)
}

// filename is that of its zip.
func (s selection) filename() string { return provider.Filename(s.Address, s.Version, s.Platform) }

// accepts holds a zip against each lock file: by its digest, or by what it holds, as
// the programs' direct installation does.
func (s selection) accepts(zip digest.Digest, h store.Hashes) error {
	is := hashesOf(zip, h)
	for _, locked := range s.locked {
		if !slices.ContainsFunc(is, func(h lockfile.Hash) bool { return slices.Contains(locked, h) }) {
			return s.refuse(zip, h, locked)
		}
	}
	return nil
}

// possible refuses what no lock file can accept, whatever the zip holds.
func (s selection) possible(p provider.Package) error {
	for _, locked := range s.locked {
		if !slices.Contains(locked, lockfile.Hash(sums.ZH(p.Digest))) && !slices.ContainsFunc(locked, lockfile.Hash.IsH1) {
			return s.refuse(p.Digest, store.Hashes{H1: p.H1}, locked)
		}
	}
	return nil
}

func (s selection) refuse(zip digest.Digest, h store.Hashes, locked []lockfile.Hash) error {
	return &lock.HashError{Address: s.Address, Version: s.Version, Platform: s.Platform, Got: hashesOf(zip, h), Locked: locked}
}

func hashesOf(zip digest.Digest, h store.Hashes) []lockfile.Hash {
	all := []lockfile.Hash{lockfile.Hash(sums.ZH(zip))}
	for _, h1 := range []string{h.H1, h.Unpacked} {
		if h1 != "" && !slices.Contains(all, lockfile.Hash(h1)) {
			all = append(all, lockfile.Hash(h1))
		}
	}
	return all
}

// packed reports whether a package must be offered as a zip: a lock file that has an
// h1, and not this one, keeps both programs from an unpacked package.
func (s selection) packed(h store.Hashes) bool {
	return slices.ContainsFunc(s.locked, func(locked []lockfile.Hash) bool {
		return slices.ContainsFunc(locked, lockfile.Hash.IsH1) && !slices.Contains(locked, lockfile.Hash(h.Unpacked))
	})
}

// hasH1 reports whether all lock files have the h1 of what a package unpacks to.
func (s selection) hasH1(h store.Hashes) bool {
	return !slices.ContainsFunc(s.locked, func(locked []lockfile.Hash) bool {
		return !slices.Contains(locked, lockfile.Hash(h.Unpacked))
	})
}

// packedIfStated is packed by what is stated of a package, before it was read. Where
// nothing is, most lock files that have an h1 have this one.
func (s selection) packedIfStated(p provider.Package) bool {
	return p.H1 != "" && s.packed(store.Hashes{Unpacked: p.H1})
}

// path is where programs look for the package in a filesystem_mirror.
func (s selection) path(packed bool) string {
	dir := s.Address.String()
	if packed {
		return dir + "/" + s.filename()
	}
	return fmt.Sprintf("%s/%s/%s", dir, s.Version, s.Platform)
}
