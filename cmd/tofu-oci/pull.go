package main

import (
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/pkg/pull"
	"github.com/tofu-oci/tofu-oci/pkg/source"
)

func pullCommand() *cli.Command {
	return &cli.Command{
		Name:      "pull",
		Usage:     "download providers from OCI repositories to a directory",
		ArgsUsage: "[PROVIDER...] --dir DIRECTORY [--from REPO] [FLAG...]",
		Description: `Checksums and signatures are verified before anything is written; existing files are
never overwritten.

The layouts are zip (DIR/FILE.zip), packed and unpacked (for a filesystem_mirror of zips
or of directories), and network (for a network_mirror on any HTTPS server).

Details: ` + docs + `filesystem-mirror.md

Examples:
   # the zip for the current platform
   tofu-oci pull hashicorp/null@3.2.4 --from ghcr.io/acme/providers/{namespace}/{type} --dir .

   # a filesystem_mirror for two platforms, from removable media
   tofu-oci pull hashicorp/null hashicorp/time --layout packed --dir mirror \
      --platform linux_amd64 --platform windows_amd64 \
      --from oci-layout:/media/usb/{namespace}/{type}

   # the locked providers of a configuration, as a filesystem_mirror
   tofu-oci pull --lock-file .terraform.lock.hcl --layout packed \
      --from ghcr.io/acme/providers/{namespace}/{type} --dir mirror

   # a network_mirror for a web server
   tofu-oci pull hashicorp/null --layout network --platform linux_amd64 \
      --from ghcr.io/acme/providers/{namespace}/{type} --dir /srv/www/providers`,
		Flags: slices.Concat([]cli.Flag{
			fromFlag("`REPO`: repositories (default: the CLI configuration)"),
			platformFlag("`OS_ARCH`: platform (repeatable; default: the current one)"),
			sourcesFlag(),
			lockFileFlag("`FILE`: lock file, directory, or pattern (repeatable)"),
			aliasFlag(),
			failFastFlag(),
			&cli.StringFlag{Name: "dir", Category: commandline.GroupContent, Usage: "write to `DIRECTORY`"},
			&cli.StringFlag{Name: "layout", Category: commandline.GroupContent, Value: string(pull.LayoutZip), Usage: "`LAYOUT`: zip, packed, unpacked, or network"},
			&cli.BoolFlag{Name: "with-evidence", Category: commandline.GroupContent, Usage: "also write checksums, signatures, and SBOMs"},
			cacheFlag("cache packages in `DIR`"),
			verifyCacheFlag(),
		}, trustFlags(), transferFlags(), networkFlags(), outputFlags()),
		Action: withReport(pullAction),
	}
}

func pullAction(cmd *command) error {
	selected, err := selectProviders(cmd)
	if err != nil {
		return err
	}
	if cmd.c.String("dir") == "" {
		return usagef("missing --dir: specify the directory to write to, such as --dir .")
	}
	var layout pull.Layout
	if err := parse(cmd.c, "layout", &layout, pull.ParseLayout); err != nil {
		return err
	}
	if err := cmd.prepare(); err != nil {
		return err
	}
	sink, err := pull.NewSink(layout, cmd.c.String("dir"), cmd.cache)
	if err != nil {
		return flagError("dir", err)
	}
	src, err := cmd.source()
	if err != nil {
		return err
	}
	options := pull.ManyOptions{
		Options: pull.Options{
			Evidence: cmd.c.Bool("with-evidence"), Concurrency: cmd.concurrency, Platforms: cmd.platforms, Verify: cmd.policy.Verify, Progress: cmd.out.Progress(),
		},
		FailFast: cmd.c.Bool("fail-fast"),
		OnResult: func(p pull.Pulled) { cmd.warnDenied(src, p.Requirement, 1, p.Version) },
	}
	cached := source.NewCached(src, cmd.cache, source.CacheOptions{})
	err = pull.Many(cmd.c.Context, cmd.limit(cached, selected), sink, selected.requirements, cmd.out.WatchPull(len(selected.requirements), cmd.sourceRepository, cmd.withRemedy, options))
	return cmd.out.FinishRun(err)
}
