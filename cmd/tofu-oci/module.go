package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/catalog"
	"github.com/tofu-oci/tofu-oci/pkg/module"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

func moduleCommand() *cli.Command {
	return &cli.Command{Name: "module", Subcommands: []*cli.Command{modulePushCommand(), moduleMirrorCommand(), modulePullCommand(), moduleListCommand()}}
}

// parseRequirement parses an argument, which is a PROVIDER or, for some commands, the
// reference of a module.
func parseRequirement(c *cli.Context, arg string) (provider.Requirement, error) {
	if !module.IsReference(arg) {
		return provider.ParseRequirement(arg)
	}
	if !slices.Contains([]string{"copy", "deny", "promote", "verify"}, c.Command.Name) {
		return provider.Requirement{}, usagef("%s is a module, which %s does not support; see tofu-oci module --help", arg, c.Command.Name)
	}
	if _, all, err := catalog.ParseModules(arg); all && (c.Command.Name == "copy" || c.Command.Name == "verify") {
		return provider.Requirement{Address: provider.ModuleAddress(arg)}, err
	}
	r, err := module.ParseReference(arg)
	switch {
	case err != nil:
		return provider.Requirement{}, err
	case r.Tag != "" || r.Digest != "":
		return provider.Requirement{}, usagef("%s: specify a version: %s@VERSION", arg, module.Reference{Repository: r.Repository})
	}
	return r.Release(), nil
}

// moduleRepository returns the repository of a module.
func moduleRepository(a provider.Address) (template.Reference, error) {
	r, err := module.ParseReference(a.Type)
	return r.Repository, err
}

// moduleTargets returns the target repository of each module. For copy, it is the
// repository of --to. For all other commands, it is the repository in the argument.
func (cmd *command) moduleTargets(wanted []provider.Requirement) (map[provider.Address]template.Reference, error) {
	refs := map[provider.Address]template.Reference{}
	for _, a := range addresses(wanted) {
		ref, err := moduleRepository(a)
		if cmd.c.Command.Name == "copy" {
			if ref, err = catalog.ModuleTarget(cmd.c.String("to"), cmd.c.Args().Slice(), ref); err != nil {
				err = usagef("--to: specify the target repository, such as registry.example.com/modules/vpc or oci-layout:vpc: %w", err)
			}
		}
		if err != nil {
			return nil, err
		}
		refs[a] = ref
	}
	if len(refs) > 1 && cmd.c.Command.Name == "copy" && !strings.Contains(cmd.c.String("to"), "{") {
		return nil, usagef("--to specifies one repository; specify only one module, or use a template")
	}
	return refs, nil
}

// expandModules replaces references with variables by the modules in their repositories.
func (cmd *command) expandModules(wanted []provider.Requirement) ([]provider.Requirement, error) {
	return catalog.ExpandModules(cmd.c.Context, wanted, cmd.moduleOptions())
}

// moduleSource returns the releases of the module in an argument, and the requirement
// that selects one of them. The argument is a reference, or an address with a
// constraint. For an address, --from determines the repository.
func (cmd *command) moduleSource(arg string) (ref template.Reference, src *oci.Source, wanted provider.Requirement, err error) {
	var r module.Reference
	var constraint provider.Constraint
	switch {
	case !module.IsReference(arg):
		r.Repository, constraint, err = cmd.findModule(arg)
	default:
		r, err = module.ParseReference(arg)
		err = misuse(err)
	}
	if err != nil {
		return ref, nil, wanted, err
	}
	repo, err := repository.Open(r.Repository, cmd.repos)
	if err == nil {
		src, wanted, err = module.Source(cmd.c.Context, repo, r)
	}
	if !constraint.IsZero() {
		wanted.Constraint = constraint
	}
	return r.Repository, src, wanted, err
}

// findModule returns the repository of an address, and the constraint after it.
func (cmd *command) findModule(arg string) (ref template.Reference, constraint provider.Constraint, err error) {
	wanted, err := module.ParseRequirement(arg)
	if err != nil {
		return ref, constraint, misuse(err)
	}
	t, err := moduleTemplate(cmd.c, "from")
	if err == nil {
		ref, err = wanted.Address.Repository(t)
		err = flagError("from", err)
	}
	return ref, wanted.Constraint, err
}
