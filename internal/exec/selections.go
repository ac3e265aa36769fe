package exec

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/lock"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/configuration"
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
	// locked contains the hashes from each lock file that locks the version. A package
	// must match at least one hash from each lock file. If only predecessors are locked,
	// locked is empty.
	locked [][]lockfile.Hash
}

// selections reads the lock files and returns their selections.
func (o Options) selections(ctx context.Context, c userConfig) ([]selection, error) {
	files, err := o.files(ctx, c)
	if err != nil {
		return nil, err
	}
	var all []selection
	for _, selections := range files {
		for _, s := range selections {
			if _, developed := c.DevOverride(s.Address); developed {
				continue
			}
			i := slices.IndexFunc(all, func(other selection) bool { return other.Address == s.Address && other.Version == s.Version })
			if i < 0 {
				i = len(all)
				all = append(all, selection{Address: s.Address, Version: s.Version, Platform: o.Platform})
				if s.Predecessor != (provider.Address{}) {
					o.Left(s.Predecessor, fmt.Sprintf("OpenTofu uses %s %s instead; to lock that provider, run tofu-oci lock", s.Address, s.Version))
				}
			}
			if s.Predecessor == (provider.Address{}) {
				all[i].locked = append(all[i].locked, s.Hashes)
			}
		}
	}
	slices.SortFunc(all, func(a, b selection) int {
		return cmp.Or(a.Address.Compare(b.Address), a.Version.Compare(b.Version))
	})
	return all, nil
}

// files returns the selections in each lock file. If necessary, it creates the lock
// file. Programs other than OpenTofu could run Terraform, so only OpenTofu's commands
// use the successors of locked providers.
func (o Options) files(ctx context.Context, c userConfig) ([][]lockfile.Selection, error) {
	read := lock.ReadOptions{Configuration: o.Reading(toolOf(o.Command) != toolOpenTofu)}
	var files [][]lockfile.Selection
	for _, path := range o.LockFiles {
		f, err := lock.ReadFile(ctx, path, read)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	if len(o.LockFiles) > 0 {
		return files, nil
	}
	path := filepath.Join(c.dir, lock.Filename)
	f, err := lock.ReadFile(ctx, path, read)
	if errors.Is(err, fs.ErrNotExist) {
		if o.Lock == nil {
			return nil, fmt.Errorf("%s: %w", path, lock.ErrNoFile)
		}
		f, err = o.lock(ctx, c)
		if errors.Is(err, configuration.ErrNoConfiguration) {
			if o.Dir == "" && o.reportsEmptyDir() {
				return nil, nil
			}
			return nil, provider.Errorf(provider.Misuse, "%w and no configuration in %s", lock.ErrNoFile, c.dir)
		}
	}
	if err != nil {
		return nil, err
	}
	return [][]lockfile.Selection{f}, nil
}

// lock creates the lock file for the command's directory.
func (o Options) lock(ctx context.Context, c userConfig) ([]lockfile.Selection, error) {
	options := *o.Lock
	options.Verify, options.Configuration, options.Loaded = o.Verify, o.Reading(c.env.Terraform), c.required
	options.DryRun = options.DryRun || c.locksReadOnly(o.Command)
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
	f, err := lockfile.Parse(change.Path, change.New)
	if err != nil {
		return nil, err
	}
	return f.Selections(), nil
}

// locksReadOnly reports whether a command's arguments or the environment prevent init
// from changing the lock file.
func (c userConfig) locksReadOnly(command []string) bool {
	return readOnlyFlag.MatchString(strings.Join(c.initArgs(command), " "))
}

// initArgs returns the arguments with which a command runs init, including those in
// environment variables.
func (c userConfig) initArgs(command []string) []string {
	return slices.Concat(command, strings.Fields(c.env.Getenv("TF_CLI_ARGS")), strings.Fields(c.env.Getenv("TF_CLI_ARGS_init")))
}

var readOnlyFlag = regexp.MustCompile(`(^|\s)['"]?--?lockfile[= ]['"]?readonly\b`)

// reportsEmptyDir reports whether the command is tofu or terraform. Both report an
// empty directory themselves, and many of their subcommands don't need providers.
func (o Options) reportsEmptyDir() bool {
	t := toolOf(o.Command)
	return t == toolOpenTofu || t == toolTerraform
}

// name returns the name of the package in the store.
func (s selection) name() string {
	return fmt.Sprintf("%s %s %s", s.Address.ASCII(), s.Version, s.Platform)
}

// filename returns the name of the zip.
func (s selection) filename() string { return provider.Filename(s.Address, s.Version, s.Platform) }

// accepts returns a *[lock.HashError] if a zip doesn't match a lock file. As in the
// programs' direct installation, either the digest or the contents must match.
func (s selection) accepts(zip digest.Digest, h store.Hashes) error {
	actual := hashesOf(zip, h)
	for _, locked := range s.locked {
		if !slices.ContainsFunc(actual, func(h lockfile.Hash) bool { return slices.Contains(locked, h) }) {
			return s.refuse(zip, h, locked)
		}
	}
	return nil
}

// canMatch returns an error if the zip can't match the lock files, regardless of its
// contents.
func (s selection) canMatch(p provider.Package) error {
	for _, locked := range s.locked {
		if !slices.Contains(locked, lockfile.Hash(sums.ZH(p.Digest))) && !slices.ContainsFunc(locked, lockfile.Hash.IsH1) {
			return s.refuse(p.Digest, store.Hashes{H1: p.H1, Unpacked: p.H1Unpacked}, locked)
		}
	}
	return nil
}

func (s selection) refuse(zip digest.Digest, h store.Hashes, locked []lockfile.Hash) error {
	return &lock.HashError{Address: s.Address, Version: s.Version, Platform: s.Platform, Got: hashesOf(zip, h), Locked: locked}
}

func hashesOf(zip digest.Digest, h store.Hashes) []lockfile.Hash {
	all := []lockfile.Hash{lockfile.Hash(sums.ZH(zip))}
	if h.H1 != "" {
		all = append(all, lockfile.Hash(h.H1))
	}
	return all
}

// locksAll reports whether all lock files contain a hash. If no lock file locks the
// version, it returns false.
func (s selection) locksAll(h lockfile.Hash) bool {
	return len(s.locked) > 0 && !slices.ContainsFunc(s.locked, func(locked []lockfile.Hash) bool { return !slices.Contains(locked, h) })
}

// path returns the path of the package in a filesystem_mirror.
func (s selection) path() string { return s.Address.String() + "/" + s.filename() }

// installPath returns the path of the package in the data directory.
func (s selection) installPath() string {
	return fmt.Sprintf("providers/%s/%s/%s", s.Address, s.Version, s.Platform)
}
