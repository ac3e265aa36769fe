package main

import (
	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/pkg/module"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/pull"
)

func modulePullCommand() *cli.Command {
	return newCommand("pull", modulePullAction, []cli.Flag{
		fromFlag("read mirrored modules from `REPO`"),
		&cli.StringFlag{Name: "dir", Category: commandline.GroupOperation, Usage: "unpack to `DIRECTORY`"},
	}, trustFlags(), transferFlags(), networkFlags(), outputFlags())
}

func modulePullAction(cmd *command) error {
	switch {
	case cmd.c.NArg() != 1:
		return usagef("got %d arguments: want one MODULE, such as oci://ghcr.io/acme/modules/vpc", cmd.c.NArg())
	case cmd.c.String("dir") == "":
		return usagef("missing --dir: specify the directory to unpack to, such as --dir modules/vpc")
	}
	if err := cmd.prepare(); err != nil {
		return err
	}
	ref, src, wanted, err := cmd.moduleSource(cmd.c.Args().First())
	if err != nil {
		return err
	}
	options := pull.ManyOptions{
		Options:  pull.Options{Verify: cmd.policy.Verify, Progress: cmd.out.Progress()},
		OnSelect: func(r provider.Requirement, selected []provider.Version) { cmd.warnDenied(src, r, 1, selected...) },
	}
	at := func(provider.Address) string { return ref.String() }
	err = module.Pull(cmd.c.Context, src, wanted, cmd.c.String("dir"), cmd.out.WatchPull(1, at, cmd.withRemedy, options))
	return cmd.out.FinishRun(err)
}
