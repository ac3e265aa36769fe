package main

import (
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/catalog"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/module"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

func moduleCommand() *cli.Command {
	return &cli.Command{Name: "module", Subcommands: []*cli.Command{modulePushCommand(), moduleMirrorCommand(), modulePullCommand(), moduleListCommand()}}
}

// parseRequirement parses an argument, which is a PROVIDER. Some commands also accept a
// module reference, or a module address if a flag contains a module template.
func parseRequirement(c *cli.Context, arg string) (provider.Requirement, error) {
	if t := moduleFlag(c); !module.IsReference(arg) && t != (template.ModuleTemplate{}) {
		return parseAddressIn(arg, t)
	}
	if !module.IsReference(arg) {
		return provider.ParseRequirement(arg)
	}
	if moduleFlags[c.Command.Name] == "" {
		return provider.Requirement{}, usagef("%s is a module, which %s does not support; see tofu-oci module --help", arg, c.Command.Name)
	}
	if _, all, err := catalog.ParseModules(arg); all && moduleFlags[c.Command.Name] == "from" {
		return provider.Requirement{Address: provider.ModuleAddress(arg)}, err
	}
	r, err := module.ParseReference(arg)
	v, isVersion := artifact.ParseModuleTag(r.Tag)
	switch {
	case err != nil:
		return provider.Requirement{}, err
	case isVersion:
		r.Tag, r.Version = "", &v
	case r.Tag != "" || r.Digest != "":
		return provider.Requirement{}, usagef("%s: to select a version, specify %s@VERSION", arg, module.Reference{Repository: r.Repository})
	}
	return r.Release(), nil
}

// moduleFlags maps each command that accepts modules to the flag that specifies the
// repositories.
var moduleFlags = map[string]string{"copy": "from", "deny": "to", "promote": "to", "verify": "from"}

// moduleFlag parses the value of the flag that specifies the repositories. If the value
// isn't a module template, it returns the zero value.
func moduleFlag(c *cli.Context) (t template.ModuleTemplate) {
	text := c.String(moduleFlags[c.Command.Name])
	if _, err := template.Parse(text); err != nil {
		t, _ = template.ParseModule(text)
	}
	return t
}

// parseAddressIn parses "ADDRESS[@CONSTRAINT]". The result refers to the repository
// that the template specifies for the module.
func parseAddressIn(arg string, t template.ModuleTemplate) (provider.Requirement, error) {
	wanted, err := module.ParseRequirement(arg)
	if err != nil {
		return provider.Requirement{}, err
	}
	ref, err := wanted.Address.Repository(t)
	r := module.Reference{Repository: ref}.Release()
	r.Constraint = wanted.Constraint
	return r, err
}

// moduleRepository returns the repository that a module's address refers to.
func moduleRepository(a provider.Address) (template.Reference, error) {
	r, err := module.ParseReference(a.Type)
	return r.Repository, err
}

// moduleTargets returns the target repository of each module. For copy, --to specifies
// the repository. For other commands, the argument contains the repository.
func (cmd *command) moduleTargets(wanted []provider.Requirement) (map[provider.Address]template.Reference, error) {
	refs := map[provider.Address]template.Reference{}
	for _, a := range addresses(wanted) {
		ref, err := moduleRepository(a)
		if cmd.c.Command.Name == "copy" {
			if ref, err = catalog.ModuleTarget(cmd.c.String("to"), append(cmd.c.Args().Slice(), referenceTo(moduleFlag(cmd.c))), ref); err != nil {
				err = usagef("--to: %w; specify the target repository, such as registry.example.com/modules/vpc or oci-layout:vpc", err)
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

// referenceTo returns the reference with variables that selects all modules in the
// repositories of a template.
func referenceTo(t template.ModuleTemplate) string {
	if t.IsLayout() {
		return t.String()
	}
	return "oci://" + t.String()
}

// expandModules replaces each reference that contains variables with the modules in its
// repositories.
func (cmd *command) expandModules(wanted []provider.Requirement) ([]provider.Requirement, error) {
	return catalog.ExpandModules(cmd.c.Context, wanted, cmd.catalogOptions())
}

// modulesIn returns the modules in the repositories of a template.
func (cmd *command) modulesIn(t template.ModuleTemplate) ([]provider.Requirement, error) {
	o := cmd.catalogOptions()
	o.Unreleased = cmd.c.Bool("pending")
	return catalog.ExpandModules(cmd.c.Context, []provider.Requirement{{Address: provider.ModuleAddress(referenceTo(t))}}, o)
}

// moduleSource finds the module that an argument specifies. It returns the module's
// repository, its releases, and the requirement that selects one of them. The argument
// is a reference, or an address with a constraint. For an address, --from determines
// the repository.
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

// findModule parses "ADDRESS[@CONSTRAINT]" and returns the module's repository and the
// constraint.
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
