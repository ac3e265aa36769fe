package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/pkg/module"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/pull"
)

func modulePullCommand() *cli.Command {
	return &cli.Command{
		Name:      "pull",
		Usage:     "download a module from an OCI repository to a directory",
		ArgsUsage: "MODULE --dir DIRECTORY [--from REPO] [FLAG...]",
		Description: strings.TrimSpace(`
MODULE is a reference, or an address in a module registry, for which --from specifies the
repositories. Without a version, tag, or digest, the newest version is downloaded.

DIRECTORY can be missing or empty, or can already contain the package. Nothing is written
to DIRECTORY before the package is verified.

Details: ` + docs + `modules.md

Examples:
   # the newest version
   tofu-oci module pull oci://ghcr.io/acme/modules/vpc --dir modules/vpc

   # a version, a tag, and a digest
   tofu-oci module pull oci://ghcr.io/acme/modules/vpc@1.2.0 --dir vpc
   tofu-oci module pull 'oci://ghcr.io/acme/modules/vpc?tag=latest' --dir vpc
   tofu-oci module pull 'oci://ghcr.io/acme/modules/vpc?digest=sha256:…' --dir vpc

   # a module that was mirrored from a module registry
   tofu-oci module pull 'terraform-aws-modules/vpc/aws@~> 5.0' --dir vpc \
      --from ghcr.io/acme/modules/{namespace}/{name}/{system}`),
		Flags: slices.Concat([]cli.Flag{
			fromFlag("`REPO`: repositories of mirrored modules"),
			&cli.StringFlag{Name: "dir", Category: commandline.GroupContent, Usage: "unpack to `DIRECTORY`"},
		}, trustFlags(), transferFlags(), networkFlags(), outputFlags()),
		Action: withReport(modulePullAction),
	}
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
		OnResult: func(p pull.Pulled) { cmd.warnDenied(src, p.Requirement, 1, p.Version) },
	}
	at := func(provider.Address) string { return ref.String() }
	err = module.Pull(cmd.c.Context, src, wanted, cmd.c.String("dir"), cmd.out.WatchPull(1, at, cmd.withRemedy, options))
	return cmd.out.FinishRun(err)
}
