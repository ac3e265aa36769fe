package main

import (
	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/pkg/lock"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// wanted is what PROVIDERs and --lock-file mean.
type wanted struct {
	requirements []provider.Requirement
	// locked is what lock files select, nil without any.
	locked lock.Selections
}

// wantedOf reads the PROVIDERs and --lock-file. With lock files, PROVIDERs keep it to
// those among what is selected.
func wantedOf(c *cli.Context, out *report.Report) (w wanted, err error) {
	names := c.StringSlice("lock-file")
	if len(names) == 0 {
		w.requirements, err = requirements(c, out)
		return w, err
	}
	only, err := named(c, c.Args().Slice(), out)
	if err != nil {
		return w, err
	}
	for _, r := range only {
		if variable := sharedBy(c.App).variables["lock-file"]; variable != "" && !r.Constraint.IsZero() {
			out.Note("%s does not count beside %s, which says the version itself", variable, r)
			return wanted{requirements: only}, nil
		}
		if !r.Constraint.IsZero() {
			return w, usagef("%s: the lock file says which version: leave out @%s", r, r.Constraint)
		}
	}
	if w.locked, err = selections(c, names); err != nil {
		return w, err
	}
	if len(only) > 0 {
		if w.locked, err = w.locked.Of(addresses(only)...); err != nil {
			return w, err
		}
	}
	w.requirements = w.locked.Requirements()
	return w, nil
}

// selections reads lock files.
func selections(c *cli.Context, names []string) (lock.Selections, error) {
	paths, err := lock.Find(c.Context, names...)
	if err != nil {
		return nil, usagef("--lock-file: %w", err)
	}
	files := make([]*lockfile.File, len(paths))
	for i, path := range paths {
		if files[i], err = lockfile.Read(path); err != nil {
			return nil, usagef("--lock-file: %w", err)
		}
	}
	all := lock.Union(files...)
	if len(all) == 0 {
		return nil, usagef("--lock-file: no provider is locked in %s", paths[0])
	}
	return all, nil
}

// limit lets a source give nothing but what is locked.
func (w wanted) limit(src provider.Source, out *report.Report) provider.Source {
	if w.locked == nil {
		return src
	}
	return lock.NewSource(src, w.locked, lock.Options{Progress: out.Progress()}, func(p provider.Package) {
		out.Note("%s %s for %s: the lock file does not have its zip's hash, and has the h1 hash of what is in it", p.Address, p.Version, p.Platform)
	})
}
