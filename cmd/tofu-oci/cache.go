package main

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/store"
)

func cacheFlag(usage string) cli.Flag {
	return &cli.StringFlag{Name: "cache", Category: commandline.GroupOperation, Usage: usage}
}

func verifyCacheFlag() cli.Flag {
	return &cli.BoolFlag{Name: "verify-cache", Category: commandline.GroupOperation, Usage: "rehash cached files even if they look unchanged"}
}

// openCache opens the cache of a run. It returns nil without --cache, except for exec,
// which always uses a cache.
func openCache(cmd *command) (*store.Store, error) {
	if cmd.c.String("cache") == "" && cmd.c.Command.Name != commandline.Exec {
		return nil, nil
	}
	dir, err := cacheDir(cmd.c)
	if err != nil {
		return nil, err
	}
	s, err := store.Open(dir, store.Options{
		Recheck: cmd.c.Bool("verify-cache"),
		OnDamaged: func(path string, why error) {
			cmd.out.Warn("the cached file %s is damaged and will be downloaded again: %v", path, why)
		},
		OnFailed: func(err error) {
			remedy := ""
			if errors.Is(err, syscall.ENOSPC) {
				remedy = "; run tofu-oci cache prune to remove old files"
			}
			cmd.out.Warn("caching is disabled for the rest of this run: %v%s", err, remedy)
		},
	})
	return s, flagError("cache", err)
}

// cacheDir returns the --cache directory or, without the flag, the user's cache
// directory.
func cacheDir(c *cli.Context) (dir string, err error) {
	if dir = c.String("cache"); dir != "" {
		return dir, nil
	}
	user, err := os.UserCacheDir()
	if err != nil {
		return "", usagef("finding the user's cache directory: %w; specify a directory with --cache DIR or TOFU_OCI_CACHE", err)
	}
	return filepath.Join(user, "tofu-oci"), nil
}

func cacheCommand() *cli.Command {
	return &cli.Command{Name: "cache", Subcommands: []*cli.Command{cacheInfoCommand(), cachePruneCommand()}}
}

func cacheInfoCommand() *cli.Command {
	return newCommand("info", cacheInfo, []cli.Flag{cacheFlag("use the cache in `DIR` (default: the cache of exec)")}, outputFlags())
}

func cachePruneCommand() *cli.Command {
	return newCommand("prune", cachePrune, []cli.Flag{
		cacheFlag("use the cache in `DIR` (default: the cache of exec)"),
		&cli.StringFlag{Name: "max-size", Category: commandline.GroupSelection, Usage: "remove the least recently used packages until the cache is no larger than `SIZE`, such as 500MB or 1.5GiB"},
		&cli.StringFlag{Name: "max-age", Category: commandline.GroupSelection, Usage: "remove packages not used for `DURATION`, such as 36h or 30d"},
		dryRunFlag("print what would be removed, but remove nothing"),
	}, outputFlags())
}

// openNamedCache opens the cache that a cache command inspects. By default, it is the
// cache that exec uses.
func openNamedCache(c *cli.Context) (*store.Store, error) {
	dir, err := cacheDir(c)
	if err != nil {
		return nil, err
	}
	s, err := store.Open(dir, store.Options{})
	return s, flagError("cache", err)
}

func cacheInfo(cmd *command) error {
	s, err := openNamedCache(cmd.c)
	if err != nil {
		return err
	}
	entries, err := s.Entries(cmd.c.Context)
	if err != nil {
		return err
	}
	return cmd.out.CacheInfo(s.Dir(), entries)
}

func cachePrune(cmd *command) error {
	s, err := openNamedCache(cmd.c)
	if err != nil {
		return err
	}
	o := store.PruneOptions{DryRun: cmd.c.Bool("dry-run")}
	if !cmd.c.IsSet("max-size") && !cmd.c.IsSet("max-age") {
		return usagef("missing limit: specify --max-size SIZE, --max-age DURATION, or both")
	}
	if cmd.c.IsSet("max-size") {
		o.MaxSize = new(int64)
		if err := parse(cmd.c, "max-size", o.MaxSize, text.ParseSize); err != nil {
			return err
		}
	}
	if cmd.c.IsSet("max-age") {
		o.MaxAge = new(time.Duration)
		if err := parseSet(cmd.c, "max-age", o.MaxAge, text.ParseAge); err != nil {
			return err
		}
	}
	pruned, err := s.Prune(cmd.c.Context, o)
	if err != nil {
		return err
	}
	return cmd.out.CachePruned(s.Dir(), pruned)
}
