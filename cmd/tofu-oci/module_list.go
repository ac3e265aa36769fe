package main

import (
	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/catalog"
	"github.com/tofu-oci/tofu-oci/internal/commandline"
)

func moduleListCommand() *cli.Command {
	return newCommand("list", listing(moduleListAction), []cli.Flag{
		fromFlag("read mirrored modules from `REPO`"),
		&cli.BoolFlag{Name: "pending", Category: commandline.GroupSelection, Usage: "list pending, denied, and pruned versions"},
		historyFlag(),
	}, trustFlags(), networkFlags(), outputFlags())
}

func moduleListAction(cmd *command) error {
	if err := cmd.prepare(); err != nil {
		return err
	}
	if cmd.c.NArg() == 0 {
		return cmd.listModules()
	}
	_, src, wanted, err := cmd.moduleSource(cmd.c.Args().First())
	if err != nil {
		return err
	}
	return listSelected(cmd, src, wanted)
}

// listModules prints the modules in the --from repositories, or their pending versions.
func (cmd *command) listModules() error {
	t, err := moduleTemplate(cmd.c, "from")
	if err != nil {
		return err
	}
	if cmd.c.Bool("pending") {
		wanted, err := cmd.modulesIn(t)
		if err != nil {
			return err
		}
		return cmd.printPending(wanted, nil)
	}
	modules, unknown, err := catalog.Modules(cmd.c.Context, t, cmd.catalogOptions())
	if err != nil {
		return err
	}
	return cmd.out.ListModules(t.Redacted(), modules, unknown)
}
