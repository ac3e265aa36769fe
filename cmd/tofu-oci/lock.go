package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/configuration"
	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/pkg/lock"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source"
)

const lockName = "lock"

func lockCommand() *cli.Command {
	return &cli.Command{
		Name:      lockName,
		Usage:     "write lock files with the hashes of all platforms, or check them",
		ArgsUsage: "[PROVIDER...] [--module-dir DIRECTORY]... [FLAG...]",
		Description: strings.TrimSpace(`
Writes .terraform.lock.hcl for what the configuration in a directory requires, or
for the PROVIDERs that are named: the zh hash of every zip that the SHA256SUMS
list, and the h1 hash of every platform. All of that lies in the repository beside
the zips, so none of those is fetched. Locked versions stay, as in OpenTofu, unless
--upgrade; comments stay too. Providers that the configuration no longer requires are
removed if all of its modules were read; if PROVIDERs are named, all others stay. A
file is written if all of its providers could be locked.

Sources of modules can refer to locals and variables. If one can't be resolved,
locked versions stay, no other version is selected, and the exit code is 3, or 1 if
nothing could be locked.

An h1 hash is the word of whoever filled the repository, as far as the zips are
not read: --compute-h1 does that, and refuses what is stated wrongly. The zh
hashes are those of sums whose signature was judged, see docs/lock.md.

--check writes nothing, and says whether what lock files select can be installed
from the repository: 4 is the exit code when hashes disagree, 5 when something is
missing.

Examples:
   # what the configuration here requires
   tofu-oci lock --from ghcr.io/acme/providers/{namespace}/{type}

   # all configurations below, the newest versions they allow, what would change
   tofu-oci lock --module-dir live --recursive --upgrade --dry-run

   # in a pipeline: can all of it be installed on these platforms?
   tofu-oci lock --check --lock-file 'live/**/.terraform.lock.hcl' \
      --platform linux_amd64 --platform darwin_arm64 --output github`),
		Flags: slices.Concat([]cli.Flag{
			&cli.StringFlag{Name: "from", Usage: "repository template `REPO` to look in (default: where the CLI configuration says that OpenTofu installs from)"},
			&cli.StringSliceFlag{Name: "module-dir", Usage: "`DIRECTORY` of a configuration (repeatable; default: this one)"},
			&cli.BoolFlag{Name: "recursive", Usage: "all configurations below the directories, but for modules that others call"},
			&cli.BoolFlag{Name: "terraform", Usage: "read configurations as Terraform does: providers without a host are those of registry.terraform.io, and .tofu files are none"},
			&cli.StringSliceFlag{Name: "platform", Usage: "`OS_ARCH` whose h1 hashes to lock, or which to check (repeatable; default: all that a release has, with --check this machine's)"},
			&cli.BoolFlag{Name: "upgrade", Usage: "choose the newest versions that are allowed, whatever is locked"},
			&cli.BoolFlag{Name: "compute-h1", Usage: "read every zip for its h1 hash, and refuse one that is stated wrongly"},
			&cli.BoolFlag{Name: "dry-run", Usage: "write nothing, and show what would change"},
			&cli.BoolFlag{Name: "check", Usage: "say whether lock files can be satisfied"},
			sourcesFlag(),
			lockFileFlag("with --check: lock `FILE`, directory of them, or pattern such as 'live/**/.terraform.lock.hcl' (repeatable; default: those of the directories)"),
			cacheFlag("take zips that are read for their h1 hashes from `DIR`, and keep them there"),
			aliasFlag(),
		}, trustFlags(), networkFlags(), []cli.Flag{
			outputFlag("`FORMAT` of the result on stdout: text or json; with --check also sarif, or github for annotations"),
			quietFlag(),
		}),
		Action: printing(lockAction),
	}
}

// lockFileFlag is that of every command that reads lock files.
func lockFileFlag(usage string) cli.Flag {
	return &cli.StringSliceFlag{Name: "lock-file", Usage: usage}
}

func lockAction(c *cli.Context, out *report.Report) error {
	l, err := newLocking(c, out)
	if err != nil {
		return err
	}
	if c.Bool("check") {
		return l.check()
	}
	return l.write()
}

// locking is what both parts of the command work on.
type locking struct {
	c       *cli.Context
	out     *report.Report
	cmd     *command
	src     provider.Source
	named   []provider.Requirement
	options lock.FileOptions
}

func newLocking(c *cli.Context, out *report.Report) (l locking, err error) {
	l = locking{c: c, out: out, options: lock.FileOptions{Upgrade: c.Bool("upgrade"), DryRun: c.Bool("dry-run")}}
	l.options.ComputeH1 = c.Bool("compute-h1")
	if l.named, err = named(c, c.Args().Slice(), out); err != nil {
		return l, err
	}
	for i, r := range l.named {
		if slices.Contains(addresses(l.named[:i]), r.Address) {
			return l, usagef("%s is named twice: a lock file has one version of it", r.Address)
		}
	}
	if l.cmd, err = begin(c, out); err != nil {
		return l, err
	}
	l.options.Platforms, l.options.Template = l.cmd.platforms, l.cmd.template
	l.options.Verify, l.options.Progress = out.Warning(l.cmd.judging.Verify), out.Progress()
	l.options.Options = l.options.WithCache()
	l.options.Repository, l.options.Named, l.options.Configuration = l.cmd.reader, l.named, readingAs(c.Bool("terraform"))
	if !c.IsSet("from") { // which replaces the CLI configuration
		l.options.Skip = func(a provider.Address) bool {
			_, developed := l.cmd.config.DevOverride(a)
			return developed
		}
	}
	src, err := l.cmd.from()
	l.src = source.NewCached(src, l.cmd.cache, source.CacheOptions{})
	return l, err
}

// write locks what each directory requires.
func (l locking) write() error {
	dirs, err := l.directories()
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		change, err := l.directory(l.c.Context, dir)
		if l.c.Context.Err() != nil {
			return l.c.Context.Err()
		}
		if err := l.out.Locked(change, err); err != nil {
			return err
		}
	}
	return l.out.LockedAll()
}

// directories returns those whose lock files are written.
func (l locking) directories() ([]string, error) {
	dirs := l.c.StringSlice("module-dir")
	if len(dirs) == 0 {
		dirs = []string{"."}
	}
	for i, dir := range dirs {
		info, err := os.Stat(dir)
		if err != nil {
			return nil, usagef("--module-dir: %w", err)
		}
		if !info.IsDir() {
			return nil, usagef("--module-dir %s: is no directory", dir)
		}
		dirs[i] = filepath.Clean(dir)
	}
	if !l.c.Bool("recursive") {
		return dirs, nil
	}
	roots, err := configuration.Roots(l.c.Context, l.options.Configuration, dirs...)
	if err == nil && len(roots) == 0 {
		err = usagef("--recursive: no configuration found in or below %s", strings.Join(dirs, ", "))
	}
	return roots, err
}

// directory locks what the configuration of one requires, or what is named.
func (l locking) directory(ctx context.Context, dir string) (lock.Change, error) {
	done := l.out.Step("locking %s", filepath.Join(dir, lock.Filename))
	change, err := lock.Directory(ctx, l.src, dir, l.options)
	done()
	noteLocked(l.out, l.cmd.config, change)
	for i, p := range change.Providers {
		change.Providers[i].Err = hinted(p.Err, l.cmd.remedies().Lock(ctx, p.Err))
	}
	return change, err
}

// noteLocked reports the providers that were not locked, and the denied versions that were
// not selected.
func noteLocked(out *report.Report, config cliconfig.Config, change lock.Change) {
	for _, a := range change.Skipped {
		override, _ := config.DevOverride(a)
		out.Note("%s is not locked, because dev_overrides replace it with %s", a, override.Path)
	}
	for _, p := range change.Providers {
		for _, v := range p.Denied {
			out.Warn("%s %s is denied, and skipped", p.Requirement.Address, v)
		}
	}
}

// readingAs returns how configurations are read, by the rules of OpenTofu or of
// Terraform.
func readingAs(terraform bool) configuration.Options {
	o := configuration.Options{
		DataDir: os.Getenv("TF_DATA_DIR"), Terraform: terraform, Variables: map[string]string{},
		UnknownVariables: setsVariables(strings.Fields(os.Getenv("TF_CLI_ARGS") + " " + os.Getenv("TF_CLI_ARGS_init"))),
	}
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		if name, is := strings.CutPrefix(name, "TF_VAR_"); is {
			o.Variables[name] = value
		}
	}
	return o
}

// variableFlag matches the flags of tofu and terraform that set variables.
var variableFlag = regexp.MustCompile(`^['"]?--?var(-file)?(=|$)`)

// setsVariables reports whether arguments of tofu or terraform set variables.
func setsVariables(args []string) bool {
	return slices.ContainsFunc(args, variableFlag.MatchString)
}
