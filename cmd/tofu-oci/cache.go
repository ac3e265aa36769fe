package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/pkg/store"
)

// cacheFlag names the cache; usage says what a command does with it.
func cacheFlag(usage string) cli.Flag {
	return &cli.StringFlag{Name: "cache", Usage: usage}
}

// openCache opens the cache of a run; nil is none. exec always has one.
func openCache(c *cli.Context, out *report.Report) (*store.Store, error) {
	dir := c.String("cache")
	if c.Command.Name == commandline.Exec {
		var err error
		if dir, err = userCache(c); err != nil {
			return nil, err
		}
	}
	if dir == "" {
		return nil, nil
	}
	recheck := c.Bool("recheck") && c.Command.Name != "mirror" // where it is about the origin
	return openStore(dir, storeOptions(out, recheck))
}

// userCache is the cache that is named, or else that of the user.
func userCache(c *cli.Context) (dir string, err error) {
	if dir = c.String("cache"); dir != "" {
		return dir, nil
	}
	user, err := os.UserCacheDir()
	if err != nil {
		return "", usagef("there is no directory for caches, so name one with --cache DIR or TOFU_OCI_CACHE: %w", err)
	}
	return filepath.Join(user, "tofu-oci"), nil
}

func storeOptions(out *report.Report, recheck bool) store.Options {
	return store.Options{
		Recheck: recheck,
		OnDamaged: func(path string, why error) {
			out.Warn("%s in the cache was damaged, and comes from the source: %v", path, why)
		},
		OnFailed: func(err error) {
			remedy := ""
			if errors.Is(err, syscall.ENOSPC) {
				remedy = "; tofu-oci cache prune removes what was not used for long"
			}
			out.Warn("the cache keeps nothing more in this run: %v%s", err, remedy)
		},
	}
}

func openStore(dir string, o store.Options) (*store.Store, error) {
	s, err := store.Open(dir, o)
	if err != nil {
		return nil, usagef("--cache: %w", err)
	}
	return s, nil
}

func cacheCommand() *cli.Command {
	return &cli.Command{
		Name:      "cache",
		Usage:     "show what a cache holds, or remove from it",
		ArgsUsage: "info | prune [--cache DIR] [FLAG...]",
		Description: strings.TrimSpace(`
A cache is a directory that pull --cache and exec fill: zips, and what they
unpack to. Whatever is in it is neither fetched nor unpacked again, by any
command of any process that names the same directory. pull takes files out of it
as copies, which share their blocks on disks that can do that (btrfs, XFS, APFS).
The programs that exec starts link to the cache from .terraform; its mirrors are
directories of such links. Without --cache or TOFU_OCI_CACHE only exec has a
cache, tofu-oci in the user's directory for caches, which this is about then.`),
		Subcommands: []*cli.Command{cacheInfoCommand(), cachePruneCommand()},
	}
}

func cacheInfoCommand() *cli.Command {
	return &cli.Command{
		Name:      "info",
		Usage:     "show how much a cache holds, and when it was used",
		ArgsUsage: "[--cache DIR] [FLAG...]",
		Description: strings.TrimSpace(`
Counts what the cache holds. Sizes are those of the files; copies that share
their blocks with others take less on the disk.

Examples:
   # that of exec
   tofu-oci cache info

   # that of a pipeline
   TOFU_OCI_CACHE=/ci/cache tofu-oci cache info --output json`),
		Flags:  slices.Concat([]cli.Flag{cacheFlag("count what is in `DIR` (default: the cache of exec)")}, outputFlags()),
		Action: printing(cacheInfo),
	}
}

func cachePruneCommand() *cli.Command {
	return &cli.Command{
		Name:      "prune",
		Usage:     "remove from a cache what was not used for long",
		ArgsUsage: "[--cache DIR] --max-size SIZE | --max-age DURATION [FLAG...]",
		Description: strings.TrimSpace(`
Removes what was last used longer than --max-age ago, and then the least
recently used until the rest has at most --max-size. What a running process is
using stays. A .terraform directory that links to what was removed needs another
tofu-oci exec -- tofu init.

SIZE is a number of bytes, or has a unit: 500MB, 20GB, 1.5GiB. DURATION is as in
36h or 30d.

Examples:
   # once a night
   tofu-oci cache prune --cache /ci/cache --max-age 30d --max-size 20GB

   # see what would go
   tofu-oci cache prune --cache /ci/cache --max-size 5GB --dry-run`),
		Flags: slices.Concat([]cli.Flag{
			cacheFlag("remove from `DIR` (default: the cache of exec)"),
			&cli.StringFlag{Name: "max-size", Usage: "let `SIZE` stay at most"},
			&cli.StringFlag{Name: "max-age", Usage: "let stay what was used in the last `DURATION`"},
			&cli.BoolFlag{Name: "dry-run", Usage: "remove nothing, and say what would be removed"},
		}, outputFlags()),
		Action: printing(cachePrune),
	}
}

// namedStore opens the cache that a command is about: that of exec, if none is named.
func namedStore(c *cli.Context) (*store.Store, error) {
	if c.Args().Present() {
		return nil, usagef("%q is no flag: name the cache with --cache DIR; see tofu-oci cache %s --help", c.Args().First(), c.Command.Name)
	}
	dir, err := userCache(c)
	if err != nil {
		return nil, err
	}
	return openStore(dir, store.Options{})
}

func cacheInfo(c *cli.Context, out *report.Report) error {
	s, err := namedStore(c)
	if err != nil {
		return err
	}
	entries, err := s.Entries(c.Context)
	if err != nil {
		return err
	}
	return out.CacheInfo(s.Dir(), entries)
}

func cachePrune(c *cli.Context, out *report.Report) error {
	s, err := namedStore(c)
	if err != nil {
		return err
	}
	o := store.PruneOptions{DryRun: c.Bool("dry-run")}
	if !c.IsSet("max-size") && !c.IsSet("max-age") {
		return usagef("name a limit: --max-size SIZE, --max-age DURATION, or both")
	}
	if c.IsSet("max-size") {
		limit, err := commandline.ParseSize(c.String("max-size"))
		if err != nil {
			return usagef("--max-size: %w", err)
		}
		o.MaxSize = &limit
	}
	if c.IsSet("max-age") {
		limit, err := commandline.ParseAge(c.String("max-age"))
		if err != nil {
			return usagef("--max-age: %w", err)
		}
		o.MaxAge = &limit
	}
	pruned, err := s.Prune(c.Context, o)
	if err != nil {
		return err
	}
	return out.CachePruned(s.Dir(), pruned)
}
