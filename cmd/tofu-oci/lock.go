package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/internal/lock"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/configuration"
	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source"
)

const lockName = "lock"

func lockCommand() *cli.Command {
	return newCommand(lockName, lockAction, []cli.Flag{
		fromFlag("read `REPO`, or the network mirror at this URL (default: from the CLI configuration)"),
		rootFlag("lock the root module in `DIR`, or all in DIR/... (default: .)"),
		sourcesFlag(),
		lockFileFlag("check `FILE`, which can be a pattern (default: from --root)"),
		platformFlag("lock or check `OS_ARCH` (default: all; with --check, the current one)"),
		aliasFlag(),
		&cli.BoolFlag{Name: "check", Category: commandline.GroupOperation, Usage: "check whether the locked providers can be installed"},
		&cli.BoolFlag{Name: "upgrade", Category: commandline.GroupOperation, Usage: "select the newest allowed versions"},
		dryRunFlag("print the changes, but write nothing"),
		terraformFlag("interpret configurations and lock files as Terraform does"),
		h1Flag("verify stored h1 hashes; `MODE` is auto or verify"),
		cacheFlag("cache zips in `DIR`"),
	}, trustFlags(), networkFlags(), []cli.Flag{
		outputFlag("print `FORMAT`: text or json; with --check, also sarif or github"),
		quietFlag(),
	})
}

func lockAction(cmd *command) error {
	l, err := newLocker(cmd)
	if err != nil {
		return err
	}
	if cmd.c.Bool("check") {
		return l.check()
	}
	return l.write()
}

// locker writes or checks lock files.
type locker struct {
	*command
	src     provider.Source
	options lock.FileOptions
	// roots contains the values of --root.
	roots []string
}

func newLocker(cmd *command) (l locker, err error) {
	l = locker{command: cmd, options: lock.FileOptions{Upgrade: cmd.c.Bool("upgrade"), DryRun: cmd.c.Bool("dry-run")}}
	l.options.ComputeH1 = cmd.c.String("h1") == "verify"
	if l.roots = cmd.c.StringSlice("root"); len(l.roots) == 0 {
		l.roots = []string{"."}
	}
	if l.options.Named, err = providers(cmd); err != nil {
		return l, err
	}
	for _, root := range l.roots {
		if _, tree := isTree(root); tree && len(l.options.Named) > 0 {
			return l, usagef("--root %s cannot be used with PROVIDERs; specify individual directories", root)
		}
	}
	for i, r := range l.options.Named {
		if slices.Contains(addresses(l.options.Named[:i]), r.Address) {
			return l, usagef("duplicate PROVIDER %s: a lock file contains only one version of each provider", r.Address)
		}
	}
	if err := cmd.prepare(); err != nil {
		return l, err
	}
	l.options.Platforms, l.options.Template = l.platforms, l.from
	l.options.Verify, l.options.Progress = cmd.out.Warning(l.policy.Verify), cmd.out.Progress()
	l.options.Options = l.options.WithCache()
	l.options.Repository, l.options.Configuration = l.openSource, configuration.FromEnvironment(os.Environ(), cmd.c.Bool("terraform"))
	if !cmd.c.IsSet("from") { // --from replaces the CLI configuration
		l.options.Skip = func(a provider.Address) bool {
			_, overridden := l.config.DevOverride(a)
			return overridden
		}
	}
	src, err := l.source()
	l.src = source.NewCached(src, l.cache, source.CacheOptions{})
	return l, err
}

// write writes the lock file of each directory.
func (l locker) write() error {
	dirs, err := l.directories()
	if err != nil {
		return err
	}
	out := report.Lock{Report: l.out}
	for _, dir := range dirs {
		change, err := l.directory(l.c.Context, dir)
		if l.c.Context.Err() != nil {
			return l.c.Context.Err()
		}
		if err := out.Locked(change, err); err != nil {
			return err
		}
	}
	return out.Finish()
}

// directories returns the directories of the configurations to lock.
func (l locker) directories() ([]string, error) {
	dirs, err := rootDirs(l.c, l.roots)
	for _, dir := range dirs {
		info, err := os.Stat(dir)
		if err != nil {
			return nil, flagError("root", err)
		}
		if !info.IsDir() {
			return nil, usagef("--root: %s is not a directory", dir)
		}
	}
	return dirs, err
}

// directory writes the lock file of a directory.
func (l locker) directory(ctx context.Context, dir string) (lock.Change, error) {
	done := l.out.Step("locking %s", filepath.Join(dir, lock.Filename))
	change, err := lock.Directory(ctx, l.src, dir, l.options)
	done()
	l.noteUnlocked(change)
	for i, p := range change.Providers {
		change.Providers[i].Err = withHint(p.Err, l.remedies().Lock(ctx, p.Err))
	}
	return change, err
}

// noteUnlocked reports providers that were not locked and denied versions that were
// skipped.
func (cmd *command) noteUnlocked(change lock.Change) {
	for _, a := range change.Skipped {
		override, _ := cmd.config.DevOverride(a)
		cmd.out.Note("%s is not locked, because dev_overrides replaces it with %s", a, override.Path)
	}
	for _, p := range change.Providers {
		for _, v := range p.Denied {
			cmd.out.Warn("skipping denied version %s %s", p.Requirement.Address, v)
		}
	}
}

// check checks whether the providers in lock files can be installed.
func (l locker) check() error {
	files, err := l.lockFiles()
	if err != nil {
		return err
	}
	o := l.options.Options
	if len(o.Platforms) == 0 {
		o.Platforms = []provider.Platform{provider.CurrentPlatform()}
	}
	started := func(path string) (done func()) { return l.out.Step("checking %s", path) }
	out := report.NewLockCheck(l.out, o.Platforms)
	err = lock.CheckFiles(l.c.Context, l.src, files, o, started, func(path string, found []lock.Checked, err error) {
		for i := range found {
			found[i].Err = l.withRemedy(found[i].Err)
		}
		out.Checked(path, found, err)
	})
	if err != nil {
		return err
	}
	return out.Finish()
}

// lockFiles returns the lock files that --lock-file specifies or, without the flag, the
// lock files in the directories.
func (l locker) lockFiles() ([]string, error) {
	flag, names := "lock-file", l.c.StringSlice("lock-file")
	if len(names) == 0 {
		flag, names = "root", nil
		for _, root := range l.roots {
			dir, tree := isTree(root)
			if !tree {
				dir = filepath.Join(dir, lock.Filename)
			}
			names = append(names, dir)
		}
	}
	files, err := lock.Find(l.c.Context, names...)
	if !l.c.IsSet(flag) {
		return files, misuse(err)
	}
	return files, flagError(flag, err)
}
