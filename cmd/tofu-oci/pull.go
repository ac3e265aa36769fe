package main

import (
	"cmp"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/pull"
	"github.com/tofu-oci/tofu-oci/pkg/source"
)

func pullCommand() *cli.Command {
	return newCommand("pull", pullAction, []cli.Flag{
		fromFlag("read `REPO`, or the network mirror at this URL (default: from the CLI configuration)"),
		platformFlag("download for `OS_ARCH` (default: the current one)"),
	}, versionFlags("matching versions"), []cli.Flag{
		sourcesFlag(),
		lockFileFlag("select the locked versions; `FILE` can be a pattern"),
		aliasFlag(),
		terraformFlag("interpret lock files as Terraform does"),
		failFastFlag(),
		&cli.StringFlag{Name: "dir", Category: commandline.GroupOperation, Usage: "write to `DIRECTORY`"},
		&cli.StringFlag{Name: "layout", Category: commandline.GroupOperation, Value: string(pull.LayoutZip), Usage: "write `LAYOUT`: zip, packed, unpacked, or network"},
		&cli.BoolFlag{Name: "with-documents", Category: commandline.GroupOperation, Usage: "also write checksums, signatures, and SBOMs"},
		cacheFlag("cache packages in `DIR`"),
		verifyCacheFlag(),
	}, trustFlags(), transferFlags(), networkFlags(), outputFlags())
}

func pullAction(cmd *command) error {
	selected, err := selectProviders(cmd)
	if err != nil {
		return err
	}
	if cmd.c.String("dir") == "" {
		return usagef("missing --dir: specify the directory to write to, such as --dir .")
	}
	if err := cmd.prepare(); err != nil {
		return err
	}
	sink, err := pull.NewSink(pull.Layout(cmd.c.String("layout")), cmd.c.String("dir"), cmd.cache)
	if err != nil {
		return flagError("dir", err)
	}
	src, err := cmd.source()
	if err != nil {
		return err
	}
	options := pull.ManyOptions{
		Options: pull.Options{
			Documents: cmd.c.Bool("with-documents"), Concurrency: cmd.concurrency, Platforms: cmd.platforms, Verify: cmd.policy.Verify, Progress: cmd.out.Progress(),
		},
		FailFast: cmd.c.Bool("fail-fast"), Latest: cmp.Or(cmd.latest, -1),
		OnSelect: func(r provider.Requirement, selected []provider.Version) {
			cmd.warnDenied(src, r, cmd.latest, selected...)
		},
		OnWithdrawn: func(a provider.Address, v provider.Version) {
			cmd.out.Warn("removed denied version %s %s from %s; its zips remain", a, v, cmd.c.String("dir"))
		},
	}
	cached := source.NewCached(src, cmd.cache, source.CacheOptions{})
	err = pull.Many(cmd.c.Context, cmd.limit(cached, selected), sink, selected.requirements, cmd.out.WatchPull(len(selected.requirements), cmd.sourceRepository, cmd.withRemedy, options))
	return cmd.out.FinishRun(err)
}
