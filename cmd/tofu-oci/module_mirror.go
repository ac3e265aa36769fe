package main

import (
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/pkg/module"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

const moduleMirrorText = `Resolves versions in the module registry, fetches each package that the repository lacks,
and pushes it in the format of OpenTofu's oci:// module sources. Packages can be in git
repositories (https or ssh), archives (zip or tar.gz), and OCI repositories. For git
repositories, the git program must be installed.

Details: ` + docs + `modules.md

Examples:
   # the newest version
   tofu-oci module mirror terraform-aws-modules/vpc/aws \
      --to ghcr.io/acme/modules/{namespace}/{name}/{system}

   # the three newest versions of a range
   tofu-oci module mirror 'terraform-aws-modules/vpc/aws@~> 5.0' --latest 3 \
      --to ghcr.io/acme/modules/{namespace}/{name}/{system}

   # all versions of a private module, for an air-gapped site
   tofu-oci module mirror gitlab.example.com/acme/vpc/aws --all \
      --to oci-layout:modules/{namespace}/{name}/{system}`

func moduleMirrorCommand() *cli.Command {
	return &cli.Command{
		Name:        "mirror",
		Usage:       "mirror modules from module registries to OCI repositories",
		ArgsUsage:   "ADDRESS[@CONSTRAINT]... --to REPO [FLAG...]",
		Description: moduleMirrorText,
		Flags: slices.Concat([]cli.Flag{
			toFlag("`REPO`: target repositories, with {hostname}, {namespace}, {name}, {system}"),
		}, versionFlags("matching versions"), []cli.Flag{
			&cli.StringFlag{Name: "min-age", Category: commandline.GroupSelection, Usage: "skip versions younger than `DURATION`, such as 3d"},
			dryRunFlag("print what would be sent, but send nothing"),
			&cli.BoolFlag{Name: "stage", Category: commandline.GroupOperation, Usage: "hide versions from OpenTofu until they are promoted"},
			&cli.BoolFlag{Name: "force", Category: commandline.GroupOperation, Usage: "overwrite conflicting content; override denials"},
			failFastFlag(),
			missingRepositoryFlag(),
			&cli.BoolFlag{Name: "allow-submodules", Category: commandline.GroupContent, Usage: "omit git submodules instead of rejecting the module"},
			&cli.BoolFlag{Name: "allow-lfs-pointers", Category: commandline.GroupContent, Usage: "keep Git LFS pointers instead of rejecting the module"},
		}, transferFlags(), networkFlags(), outputFlags()),
		Action: withReport(moduleMirrorAction),
	}
}

func moduleMirrorAction(cmd *command) error {
	c := cmd.c
	wanted, err := moduleRequirements(c)
	if err != nil {
		return err
	}
	if err := cmd.prepare(); err != nil {
		return err
	}
	refs, err := cmd.mirroredModules(wanted)
	if err != nil {
		return err
	}
	options := publish.Options{Stage: c.Bool("stage")}
	return cmd.out.FinishRun(module.Mirror(c.Context, cmd.moduleOrigin(), wanted, module.MirrorOptions{
		Options: cmd.mirrorOptions(refs, options),
		Open: func(ref template.Reference) (repository.Reader, error) {
			return repository.Open(ref, cmd.repos)
		},
		AllowSubmodules: c.Bool("allow-submodules"), AllowLFS: c.Bool("allow-lfs-pointers"),
	}))
}

// moduleOrigin returns the source of modules in module registries.
func (cmd *command) moduleOrigin() *origin.Modules {
	return origin.NewModules(origin.Options{HTTP: cmd.http, Services: cmd.services("modules.v1"), Token: cmd.token})
}

// moduleRequirements parses the modules on the command line.
func moduleRequirements(c *cli.Context) ([]module.Requirement, error) {
	if !c.Args().Present() {
		return nil, usagef("specify at least one module, such as terraform-aws-modules/vpc/aws; see tofu-oci %s --help", c.Command.HelpName)
	}
	var wanted []module.Requirement
	for _, argument := range c.Args().Slice() {
		r, err := module.ParseRequirement(argument)
		if err != nil {
			return nil, misuse(err)
		}
		wanted = append(wanted, r)
	}
	return wanted, nil
}

// mirroredModules returns the repository of each module according to --to.
func (cmd *command) mirroredModules(wanted []module.Requirement) (map[provider.Address]template.Reference, error) {
	t, err := moduleTemplate(cmd.c, "to")
	if err != nil {
		return nil, err
	}
	var modules []provider.Address
	for _, r := range wanted {
		modules = append(modules, r.Address.InRegistry())
	}
	return cmd.distinctTargets(modules, func(a provider.Address) (template.Reference, error) {
		return module.FromRegistry(a).Repository(t)
	})
}

// moduleTemplate parses --to or --from as a template for modules.
func moduleTemplate(c *cli.Context, flag string) (t template.ModuleTemplate, err error) {
	if c.String(flag) == "" {
		return t, usagef("missing --%s: specify a repository template, such as --%s ghcr.io/acme/modules/{namespace}/{name}/{system}", flag, flag)
	}
	err = parse(c, flag, &t, template.ParseModule)
	return t, err
}
