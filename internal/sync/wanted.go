package sync

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"github.com/tofu-oci/tofu-oci/internal/catalog"
	"github.com/tofu-oci/tofu-oci/internal/lock"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/module"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// Wanted is a provider that a declaration selects, or that only deny blocks refer to.
type Wanted struct {
	Address  provider.Address
	Settings Settings
	// Requirements lists the requirements that select versions of the provider. A
	// version is selected if at least one requirement selects it. If Requirements is
	// empty, only deny blocks refer to the provider. In this case, existing versions
	// can be denied, but nothing else is done.
	Requirements []Requirement
}

// Requirement selects versions of a provider or module.
type Requirement struct {
	provider.Requirement
	// From is the origin of the requirement: a line such as "mirror.hcl:12" or
	// "providers.txt:3", the path of a lock file, or the directory of a root
	// configuration.
	From string
	// Locked reports whether the requirement is an exact version, either from a lock
	// file or of a module that a root configuration requires.
	Locked bool
	// Hashes contains the hashes in the lock file. Packages that match none of them are
	// rejected.
	Hashes []lockfile.Hash
}

// RootDependencies returns the requirements of the root configurations in dirs, and passes
// errors about directories to failed. See [module.DependencyOptions].
type RootDependencies func(dirs []string, failed func(dir string, err error)) (*module.Dependencies, error)

// Wanted returns the selected providers and modules, sorted by address. They are
// selected by blocks with an address, by files that list PROVIDERs, by lock files, and
// by root configurations, for which Wanted calls find. Wanted also returns the
// providers and modules that only deny blocks with an address refer to. problems
// contains errors about files that can't be read and about patterns that match nothing.
// If problems is not empty, the result is incomplete.
func (d *Declaration) Wanted(ctx context.Context, find RootDependencies) (wanted []Wanted, problems []error) {
	s := selection{declaration: d, byAddress: map[provider.Address]*Wanted{}}
	// 1. Add the provider and module blocks.
	for a, b := range d.named {
		s.add(Requirement{Requirement: provider.Requirement{Address: a, Constraint: s.of(a).Settings.Versions}, From: b.position})
	}
	// 2. Add the files that list PROVIDERs.
	for _, path := range d.Sources {
		for _, err := range s.addSources(path) {
			problems = append(problems, fmt.Errorf("sources: %w", d.withoutSecrets(path, err)))
		}
	}
	// 3. Add the lock files.
	problems = append(problems, s.addLockFiles(ctx, d.LockFiles)...)
	// 4. Add the root configurations.
	problems = append(problems, s.addRoots(ctx, find)...)
	for i := range problems {
		problems[i] = fmt.Errorf("%w; this run removes and denies nothing", problems[i])
	}
	// 5. Add the deny blocks.
	s.addDenied()

	for _, w := range s.byAddress {
		wanted = append(wanted, *w)
	}
	slices.SortFunc(wanted, func(a, b Wanted) int { return a.Address.Compare(b.Address) })
	return wanted, problems
}

// withoutSecrets removes the content of a file from an error about the file, because a
// declaration in a pull request could print a secret of the job that checks the
// declaration. If the file is in the directory of the declaration or in the current
// directory, the content is kept.
func (d *Declaration) withoutSecrets(path string, err error) error {
	if _, unread := errors.AsType[*fs.PathError](err); unread || catalog.IsIn(filepath.Dir(d.Path), path) || catalog.IsIn(".", path) {
		return err
	}
	return provider.Errorf(provider.Malformed, "%s: invalid content, which is not shown because the file is outside the declaration's directory", path)
}

// selection collects the selected providers.
type selection struct {
	declaration *Declaration
	byAddress   map[provider.Address]*Wanted
}

// of returns the entry for a provider. It adds the entry if necessary.
func (s selection) of(a provider.Address) *Wanted {
	if s.byAddress[a] == nil {
		s.byAddress[a] = &Wanted{Address: a, Settings: s.declaration.Settings(a)}
	}
	return s.byAddress[a]
}

func (s selection) add(r Requirement) {
	w := s.of(r.Address)
	w.Requirements = append(w.Requirements, r)
}

// addSources adds the lines of a file that lists PROVIDERs.
func (s selection) addSources(path string) (problems []error) {
	lines, err := catalog.ReadSources(path, nil)
	if err != nil {
		return []error{err}
	}
	for _, line := range lines {
		err := line.Err
		if err == nil {
			err = s.addMatching(line.Requirement, line.Place)
		}
		if err != nil {
			problems = append(problems, err)
		}
	}
	return problems
}

// addMatching adds the versions that meet both a requirement and the versions argument.
func (s selection) addMatching(r provider.Requirement, from string) (err error) {
	versions := s.of(r.Address).Settings.Versions
	// Don't combine an exact constraint with versions, so that [provider.Constraint.Exact]
	// still recognizes it.
	if v, exact := r.Constraint.Exact(); !exact || !includes(versions, v) {
		if r.Constraint, err = versions.And(r.Constraint); err != nil {
			return fmt.Errorf("%s: %w", from, err)
		}
	}
	s.add(Requirement{Requirement: r, From: from})
	return nil
}

// addDenied adds the providers that only deny blocks refer to. It omits targets in
// which a selected provider already uses the repository.
func (s selection) addDenied() {
	d := s.declaration
	taken := map[template.Reference]bool{}
	for a, w := range s.byAddress {
		for _, t := range d.targetsOf(w.Settings) {
			if ref, err := t.repository(a); err == nil {
				taken[ref] = true
			}
		}
	}
	for _, block := range d.Denials {
		a, isAddress, err := block.Pattern.address()
		if !isAddress || err != nil || s.byAddress[a] != nil {
			continue
		}
		settings := d.Settings(a)
		settings.None, settings.Targets = true, nil
		for _, t := range d.Targets {
			if ref, err := t.repository(a); t.takes(a) && (err != nil || !taken[ref]) {
				settings.Targets = append(settings.Targets, t.Name)
			}
		}
		if len(settings.Targets) > 0 {
			s.byAddress[a] = &Wanted{Address: a, Settings: settings}
		}
	}
}

// addLockFiles adds the selections of lock files.
func (s selection) addLockFiles(ctx context.Context, patterns []string) (problems []error) {
	var paths []string
	for _, pattern := range patterns {
		found, err := lock.Find(ctx, pattern)
		if err != nil {
			problems = append(problems, fmt.Errorf("lock_files: %w", err))
		}
		paths = append(paths, found...)
	}
	slices.Sort(paths)
	declared := maps.Clone(s.byAddress)
	o := lock.ReadOptions{Requires: func(a provider.Address) bool { return declared[a] != nil }}
	o.Configuration.Terraform = s.declaration.Terraform
	for _, path := range slices.Compact(paths) {
		selections, err := lock.ReadFile(ctx, path, o)
		if err != nil {
			problems = append(problems, fmt.Errorf("lock_files: %w", s.declaration.withoutSecrets(path, err)))
		}
		for _, selected := range selections {
			s.add(Requirement{Requirement: provider.Requirement{Address: selected.Address, Constraint: selected.Version.Constraint()}, From: path, Locked: true, Hashes: selected.Hashes})
		}
	}
	return problems
}
