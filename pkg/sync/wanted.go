package sync

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/tofu-oci/tofu-oci/internal/catalog"
	"github.com/tofu-oci/tofu-oci/pkg/lock"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/module"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// Wanted is a provider that a declaration selects, or whose versions it denies.
type Wanted struct {
	Address  provider.Address
	Settings Settings
	// Requirements lists the requirements that select versions of the provider. A
	// version is selected if any requirement selects it. If Requirements is empty, only
	// deny blocks refer to the provider. Existing versions can then be denied, and
	// nothing else is done.
	Requirements []Requirement
}

// Requirement is a requirement of a declaration.
type Requirement struct {
	provider.Requirement
	// From is the origin of the requirement: a line such as "mirror.hcl:12" or
	// "providers.txt:3", or the path of a lock file.
	From string
	// Locked reports that the requirement is an exact version from a lock file, or of a
	// module that a root configuration requires.
	Locked bool
}

// Closure returns what the root configurations in directories require, and passes the
// errors of directories to failed. See [module.ClosureOptions].
type Closure func(dirs []string, failed func(dir string, err error)) (*module.Closure, error)

// Wanted returns the selected providers and modules, sorted by address. They are
// selected by blocks with an address, by files of PROVIDERs, by lock files, and by root
// configurations, for which Wanted calls closure. Wanted also returns the providers and
// modules that only deny blocks with an address refer to. problems contains the errors
// of files that can't be read, and of patterns that match nothing. If problems is not
// empty, the result is incomplete.
func (d *Declaration) Wanted(ctx context.Context, closure Closure) (wanted []Wanted, problems []error) {
	s := selection{declaration: d, byAddress: map[provider.Address]*Wanted{}}
	// 1. Provider blocks.
	for a, b := range d.named {
		s.add(Requirement{Requirement: provider.Requirement{Address: a, Constraint: s.of(a).Settings.Versions}, From: b.position})
	}
	// 2. Files of PROVIDERs.
	for _, path := range d.Sources {
		if err := s.addSources(path); err != nil {
			problems = append(problems, fmt.Errorf("sources: %w", d.withoutSecrets(path, err)))
		}
	}
	// 3. Lock files.
	problems = append(problems, s.addLockFiles(ctx, d.LockFiles)...)
	// 4. Root configurations.
	problems = append(problems, s.addRoots(ctx, closure)...)
	for i := range problems {
		problems[i] = fmt.Errorf("%w; this run removes and denies nothing", problems[i])
	}
	// 5. Deny blocks.
	s.addDenied()

	for _, w := range s.byAddress {
		wanted = append(wanted, *w)
	}
	slices.SortFunc(wanted, func(a, b Wanted) int { return a.Address.Compare(b.Address) })
	return wanted, problems
}

// withoutSecrets removes the content of a file from an error about the file. It keeps
// the content if the file is in the directory of the declaration or in the current
// directory. Otherwise, a declaration in a pull request could print a secret of the job
// that checks it.
func (d *Declaration) withoutSecrets(path string, err error) error {
	if _, unread := errors.AsType[*fs.PathError](err); unread || isIn(filepath.Dir(d.Path), path) || isIn(".", path) {
		return err
	}
	return provider.Errorf(provider.Malformed, "%s: invalid content, which is not shown because the file is outside the declaration's directory", path)
}

// isIn reports whether a file is in a directory or its subdirectories, after symbolic
// links are resolved.
func isIn(dir, path string) bool {
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err == nil {
		path, err = filepath.Rel(dir, path)
	}
	return err == nil && filepath.IsLocal(path)
}

// selection collects the selected providers.
type selection struct {
	declaration *Declaration
	byAddress   map[provider.Address]*Wanted
}

// of returns the entry of a provider. It adds the entry if necessary.
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

// addSources adds the lines of a file of PROVIDERs.
func (s selection) addSources(path string) error {
	lines, err := catalog.ReadSources(path, nil)
	if err != nil {
		return err
	}
	for _, line := range lines {
		if err := s.addMatching(line.Requirement, line.Place); err != nil {
			return err
		}
	}
	return nil
}

// addMatching adds the versions that meet a requirement and the argument versions.
func (s selection) addMatching(r provider.Requirement, from string) (err error) {
	versions := s.of(r.Address).Settings.Versions
	// An exact version stays exact, so that the version can be recognized.
	if v, exact := r.Constraint.Exact(); !exact || !includes(versions, v) {
		if r.Constraint, err = versions.And(r.Constraint); err != nil {
			return fmt.Errorf("%s: %w", from, err)
		}
	}
	s.add(Requirement{Requirement: r, From: from})
	return nil
}

// addDenied adds the providers that only deny blocks refer to. It omits targets in
// which a selected provider uses the same repository.
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
	for _, path := range slices.Compact(paths) {
		f, err := lockfile.Read(path)
		if err != nil {
			problems = append(problems, fmt.Errorf("lock_files: %w", s.declaration.withoutSecrets(path, err)))
			continue
		}
		for _, selected := range f.Selections() {
			s.add(Requirement{Requirement: provider.Requirement{Address: selected.Address, Constraint: selected.Version.Constraint()}, From: path, Locked: true})
		}
	}
	return problems
}
