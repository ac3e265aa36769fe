package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/pkg/lock"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source"
)

// selection contains the releases that PROVIDERs and --lock-file select.
type selection struct {
	requirements []provider.Requirement
	// locked contains the versions and hashes in the lock files. It is nil without
	// --lock-file.
	locked lock.Selections
}

// selectProviders parses the PROVIDERs and reads the files of --lock-file. If both are
// specified, the PROVIDERs restrict the locked providers.
func selectProviders(c *cli.Context, out *report.Report) (s selection, err error) {
	names := c.StringSlice("lock-file")
	if len(names) == 0 {
		s.requirements, err = requiredProviders(c, out)
		return s, err
	}
	only, err := providers(c, c.Args().Slice(), out)
	if err != nil {
		return s, err
	}
	for _, r := range only {
		if variable := stateOf(c.App).variables["lock-file"]; variable != "" && !r.Constraint.IsZero() {
			out.Note("%s is ignored, because %s specifies a version", variable, r)
			return selection{requirements: only}, nil
		}
		if !r.Constraint.IsZero() {
			return s, usagef("%s: cannot combine a version constraint with --lock-file; omit @%s", r, r.Constraint)
		}
	}
	if s.locked, err = readLockFiles(c, names); err != nil {
		return s, err
	}
	if len(only) > 0 {
		s.locked, err = s.locked.Of(addresses(only)...)
	}
	s.requirements = s.locked.Requirements()
	return s, err
}

// readLockFiles returns the selections of lock files.
func readLockFiles(c *cli.Context, names []string) (lock.Selections, error) {
	paths, err := lock.Find(c.Context, names...)
	files := make([]*lockfile.File, len(paths))
	for i := 0; i < len(paths) && err == nil; i++ {
		files[i], err = lockfile.Read(paths[i])
	}
	if err != nil {
		return nil, flagError("lock-file", err)
	}
	all := lock.Union(files...)
	if len(all) == 0 {
		return nil, usagef("--lock-file: %s locks no providers", paths[0])
	}
	return all, nil
}

// limit restricts a source to locked packages.
func (s selection) limit(src provider.Source, out *report.Report) provider.Source {
	if s.locked == nil {
		return src
	}
	return lock.NewSource(src, s.locked, lock.Options{Progress: out.Progress()}, func(p provider.Package) {
		out.Note("%s %s for %s: verified by its h1 hash, because the lock file has no zh hash of the zip", p.Address, p.Version, p.Platform)
	})
}

// warnDenied warns about denied versions that a requirement would otherwise select. n
// is the number of requested versions, or zero for all versions. selected contains the
// selected versions.
func warnDenied(ctx context.Context, out *report.Report, src provider.Source, r provider.Requirement, n int, selected ...provider.Version) {
	for _, v := range source.Denied(ctx, src, r, n, selected) {
		out.Warn("skipping denied version %s %s", r.Address, v)
	}
}
