package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/catalog"
	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/internal/explain"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

func moduleListCommand() *cli.Command {
	return &cli.Command{
		Name:      "list",
		Usage:     "list modules, versions, or the contents of a version",
		ArgsUsage: "[MODULE] [--from REPO] [FLAG...]",
		Description: strings.TrimSpace(`
Without MODULE, lists the modules in the --from repositories. With an exact version, lists
the version's zip, documents, and signature.

Details: ` + docs + `modules.md

Examples:
   # the versions of a module
   tofu-oci module list oci://ghcr.io/acme/modules/vpc

   # the contents of a version, as JSON
   tofu-oci module list oci://ghcr.io/acme/modules/vpc@1.2.0 --output json

   # the versions of a module that was mirrored from a module registry
   tofu-oci module list terraform-aws-modules/vpc/aws \
      --from ghcr.io/acme/modules/{namespace}/{name}/{system}

   # the pending and denied versions
   tofu-oci module list oci://ghcr.io/acme/modules/vpc --pending

   # all modules
   tofu-oci module list --from oci-layout:mirror/{namespace}/{name}/{system}`),
		Flags: slices.Concat([]cli.Flag{
			fromFlag("`REPO`: repositories of mirrored modules"),
			&cli.BoolFlag{Name: "pending", Category: commandline.GroupSelection, Usage: "list pending, denied, and pruned versions"},
		}, trustFlags(), networkFlags(), outputFlags()),
		Action: withReport(moduleListAction),
	}
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
	if cmd.c.Bool("pending") {
		return listPending(cmd, wanted)
	}
	if v, exact := wanted.Constraint.Exact(); exact {
		err = listVersion(cmd, src, wanted.Address, v)
	} else {
		var versions []provider.Version
		if versions, err = matchingVersions(cmd.c.Context, src, wanted); err == nil {
			cmd.warnDenied(src, wanted, 0)
			return cmd.out.ListVersions(wanted.Address, versions)
		}
	}
	if errors.Is(err, provider.ErrVersionNotFound) {
		return explain.WithHint(err, "") // the default hint suggests tofu-oci list
	}
	return err
}

// listModules prints the modules in the repositories of --from.
func (cmd *command) listModules() error {
	t, err := moduleTemplate(cmd.c, "from")
	if err != nil {
		return err
	}
	modules, unknown, err := catalog.Modules(cmd.c.Context, t, catalog.ModuleOptions{
		Names: cmd.repositoryNames,
		Open:  func(ref template.Reference) (repository.Reader, error) { return repository.Open(ref, cmd.repos) },
	})
	if err != nil {
		return err
	}
	return cmd.out.ListModules(t.Redacted(), modules, unknown)
}
