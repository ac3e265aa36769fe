package main

import (
	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/catalog"
	"github.com/tofu-oci/tofu-oci/internal/commandline"
)

func moduleListCommand() *cli.Command {
	return newCommand("list", listing(moduleListAction), []cli.Flag{
		fromFlag("`REPO`: repositories of mirrored modules"),
		&cli.BoolFlag{Name: "pending", Category: commandline.GroupSelection, Usage: "list pending, denied, and pruned versions"},
		historyFlag(),
	}, trustFlags(), networkFlags(), outputFlags())
}

func moduleListAction(cmd *command) error {
	if cmd.c.NArg() > 1 {
		return usagef("got %d arguments: want one MODULE", cmd.c.NArg())
	}
	if err := cmd.prepare(); err != nil {
		return err
	}
	switch {
	case cmd.c.NArg() == 0 && cmd.c.Bool("pending"):
		return usagef("--pending: specify a MODULE")
	case cmd.c.NArg() == 0:
		return cmd.listModules()
	}
	_, src, wanted, err := cmd.moduleSource(cmd.c.Args().First())
	if err != nil {
		return err
	}
	return listSelected(cmd, src, wanted)
}

func (cmd *command) moduleOptions() catalog.ModuleOptions {
	return catalog.ModuleOptions{Names: cmd.repositoryNames, Open: cmd.open}
}

// listModules prints the modules in the repositories of --from.
func (cmd *command) listModules() error {
	t, err := moduleTemplate(cmd.c, "from")
	if err != nil {
		return err
	}
	modules, unknown, err := catalog.Modules(cmd.c.Context, t, cmd.moduleOptions())
	if err != nil {
		return err
	}
	return cmd.out.ListModules(t.Redacted(), modules, unknown)
}
