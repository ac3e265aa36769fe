package main

import (
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/pkg/module"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

func moduleMirrorCommand() *cli.Command {
	return newCommand("mirror", moduleMirrorAction, []cli.Flag{
		toFlag("`REPO`: target repositories; can contain {hostname}, {namespace}, {name}, and {system}"),
	}, versionFlags("matching versions"), []cli.Flag{
		rootFlag(),
		&cli.StringFlag{Name: "min-age", Category: commandline.GroupSelection, Usage: "skip versions younger than `DURATION`, such as 3d"},
		dryRunFlag("print what would be sent, but send nothing"),
		&cli.BoolFlag{Name: "stage", Category: commandline.GroupOperation, Usage: "hide versions from OpenTofu until they are promoted"},
		&cli.BoolFlag{Name: "force", Category: commandline.GroupOperation, Usage: "overwrite conflicting content; override denials"},
		gateFlag(),
		failFastFlag(),
		missingRepositoryFlag(),
		&cli.BoolFlag{Name: "allow-submodules", Category: commandline.GroupContent, Usage: "omit Git submodules instead of rejecting the module"},
		&cli.BoolFlag{Name: "allow-lfs-pointers", Category: commandline.GroupContent, Usage: "keep Git LFS pointers instead of rejecting the module"},
	}, transferFlags(), networkFlags(), outputFlags())
}

func moduleMirrorAction(cmd *command) error {
	c := cmd.c
	if !c.Args().Present() && !c.IsSet("root") {
		return usagef("specify at least one module, such as terraform-aws-modules/vpc/aws; see tofu-oci %s --help", c.Command.HelpName)
	}
	var wanted []module.Requirement
	if err := parseEach(c.Args().Slice(), &wanted, module.ParseRequirement); err != nil {
		return misuse(err)
	}
	if err := cmd.prepare(); err != nil {
		return err
	}
	closure, err := cmd.closure()
	if err != nil {
		return err
	}
	defer closure.Close()
	return cmd.out.FinishRun(cmd.mirrorModules("to", append(wanted, closure.Modules...), closure))
}

// mirrorModules mirrors modules to the repositories that a flag specifies.
func (cmd *command) mirrorModules(flag string, wanted []module.Requirement, closure *module.Closure) error {
	t, err := moduleTemplate(cmd.c, flag)
	if err != nil {
		return err
	}
	var modules []provider.Address
	for _, r := range wanted {
		modules = append(modules, r.Address.InRegistry())
	}
	refs, err := cmd.distinctTargets(flag, modules, func(a provider.Address) (template.Reference, error) {
		return module.FromRegistry(a).Repository(t)
	})
	if err != nil {
		return err
	}
	o := cmd.moduleMirrorOptions()
	o.Options, o.Closure = cmd.mirrorOptions(refs), closure
	return module.Mirror(cmd.c.Context, cmd.moduleOrigin(0), wanted, o)
}

// moduleMirrorOptions returns the options for mirroring packages from module
// registries.
func (cmd *command) moduleMirrorOptions() module.MirrorOptions {
	return module.MirrorOptions{
		Open:            cmd.open,
		AllowSubmodules: cmd.c.Bool("allow-submodules"), AllowLFS: cmd.c.Bool("allow-lfs-pointers"),
	}
}

// closure reads the configurations that --root specifies.
func (cmd *command) closure() (*module.Closure, error) {
	if !cmd.c.IsSet("root") {
		return &module.Closure{}, nil
	}
	o := cmd.moduleMirrorOptions()
	done := cmd.out.Step("reading configurations")
	closure, err := module.NewClosure(cmd.c.Context, cmd.moduleOrigin(0), cmd.c.StringSlice("root"), module.ClosureOptions{
		Open: o.Open, AllowSubmodules: o.AllowSubmodules, AllowLFS: o.AllowLFS, Environ: os.Environ(),
	})
	done()
	if err == nil {
		cmd.out.DirectCalls(closure.Direct)
	}
	return closure, err
}

// moduleOrigin returns the source of modules in module registries. It caches responses
// for the given time or, if it is zero, for the duration of the run.
func (cmd *command) moduleOrigin(lifetime time.Duration) *origin.Modules {
	return origin.NewModules(origin.Options{HTTP: cmd.http, Services: cmd.services("modules.v1"), Token: cmd.token, Lifetime: lifetime})
}

// moduleTemplate parses --to or --from as a module template.
func moduleTemplate(c *cli.Context, flag string) (t template.ModuleTemplate, err error) {
	if c.String(flag) == "" {
		return t, usagef("missing --%s: specify a repository template, such as --%s ghcr.io/acme/modules/{namespace}/{name}/{system}", flag, flag)
	}
	err = parse(c, flag, &t, template.ParseModule)
	return t, err
}
