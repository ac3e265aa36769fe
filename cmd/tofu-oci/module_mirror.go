package main

import (
	"os"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/pkg/mirror"
	"github.com/tofu-oci/tofu-oci/pkg/module"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

func moduleMirrorCommand() *cli.Command {
	return newCommand("mirror", moduleMirrorAction, []cli.Flag{
		toFlag("write to `REPO`, a template with {hostname}, {namespace}, {name}, and {system}"),
	}, versionFlags("matching versions"), []cli.Flag{
		rootFlag("select requirements of `DIR` (recursive: DIR/...)"),
		withDependenciesFlag(),
		&cli.StringFlag{Name: "min-age", Category: commandline.GroupSelection, Usage: "skip versions younger than `DURATION`, such as 3d"},
		dryRunFlag("print what would be sent, but send nothing"),
		&cli.BoolFlag{Name: "stage", Category: commandline.GroupOperation, Usage: "hide versions from OpenTofu until promoted"},
		&cli.BoolFlag{Name: "force", Category: commandline.GroupOperation, Usage: "overwrite conflicting content; override denials"},
		gateFlag(),
		failFastFlag(),
		verboseFlag(),
		missingRepositoryFlag(),
		&cli.BoolFlag{Name: "allow-incomplete", Category: commandline.GroupOperation, Usage: "omit Git submodules, and keep Git LFS pointers"},
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
	dependencies, err := cmd.dependencies()
	if err != nil {
		return err
	}
	defer dependencies.Close()
	mirrored, err := cmd.mirrorModules("to", append(wanted, dependencies.Modules...), dependencies)
	if err == nil {
		err = cmd.mirrorDependencies(mirrored)
	}
	return cmd.out.FinishRun(err)
}

func withDependenciesFlag() cli.Flag {
	return &cli.BoolFlag{Name: "with-dependencies", Category: commandline.GroupSelection, Usage: "include the modules that the selected modules call"}
}

// mirrorModules mirrors modules to the repositories that a flag specifies. It returns
// exact requirements for the versions that are in the repositories.
func (cmd *command) mirrorModules(flag string, wanted []module.Requirement, dependencies *module.Dependencies) (mirrored []module.Requirement, err error) {
	t, err := moduleTemplate(cmd.c, flag)
	if err != nil {
		return nil, err
	}
	var modules []provider.Address
	for _, r := range wanted {
		modules = append(modules, r.Address.InRegistry())
	}
	refs, err := cmd.distinctTargets(flag, modules, func(a provider.Address) (template.Reference, error) {
		return module.FromRegistry(a).Repository(t)
	})
	if err != nil {
		return nil, err
	}
	o := cmd.moduleMirrorOptions()
	o.Options, o.Dependencies = cmd.mirrorOptions(refs), dependencies
	onResult := o.OnResult
	o.OnResult = func(r mirror.Result) {
		if r.Err == nil && r.Item.Held == nil && r.Published.Status != publish.Denied {
			mirrored = append(mirrored, module.Requirement{Address: module.FromRegistry(r.Published.Address), Constraint: provider.ExactConstraint(r.Published.Version)})
		}
		onResult(r)
	}
	return mirrored, module.Mirror(cmd.c.Context, cmd.moduleOrigin(0), wanted, o)
}

// mirrorDependencies mirrors the modules that the given versions call if
// --with-dependencies is set. Otherwise, it prints the called modules that the mirror
// lacks.
func (cmd *command) mirrorDependencies(mirrored []module.Requirement) error {
	t, err := moduleTemplate(cmd.c, "to")
	if err != nil {
		return err
	}
	if !cmd.c.Bool("with-dependencies") {
		if !cmd.c.Bool("dry-run") {
			cmd.noteMissingModules(newestOf(mirrored), cmd.dependencyOptions(t).Stored, "--with-dependencies")
		}
		return nil
	}
	o := cmd.dependencyOptions(t)
	o.OnError = nil
	dependencies, err := module.FindVersionDependencies(cmd.c.Context, cmd.moduleOrigin(0), mirrored, o)
	if err != nil {
		return err
	}
	defer dependencies.Close()
	cmd.out.NonRegistryCalls(dependencies.NonRegistryCalls)
	isMirrored := func(r module.Requirement) bool {
		return slices.ContainsFunc(mirrored, func(m module.Requirement) bool { return m.String() == r.String() })
	}
	missing := slices.DeleteFunc(slices.Clone(dependencies.Modules), isMirrored)
	if len(missing) == 0 {
		return nil
	}
	_, err = cmd.mirrorModules("to", missing, dependencies)
	return err
}

// newestOf returns the newest version of each module.
func newestOf(versions []module.Requirement) (newest []module.Requirement) {
	at := map[module.Address]int{}
	for _, r := range versions {
		v, _ := r.Constraint.Exact()
		i, known := at[r.Address]
		if !known {
			at[r.Address] = len(newest)
			newest = append(newest, r)
		} else if other, _ := newest[i].Constraint.Exact(); v.Compare(other) > 0 {
			newest[i] = r
		}
	}
	return newest
}

// dependencyOptions returns the options for reading the modules in a mirror. Errors are
// printed as warnings.
func (cmd *command) dependencyOptions(t template.ModuleTemplate) module.DependencyOptions {
	o := cmd.moduleMirrorOptions()
	return module.DependencyOptions{
		Open: o.Open, AllowIncomplete: o.AllowIncomplete,
		Stored: func(a module.Address) (repository.Reader, error) {
			ref, err := a.Repository(t)
			if err != nil {
				return nil, err
			}
			return cmd.open(ref)
		},
		OnError: func(_ string, err error) { cmd.out.Warn("%v", err) },
	}
}

// noteMissingModules prints the modules that a mirror lacks although its versions call
// them. stored returns a module's repository. remedy is the flag or setting that adds
// the modules.
func (cmd *command) noteMissingModules(of []module.Requirement, stored func(module.Address) (repository.Reader, error), remedy string) {
	if len(of) == 0 {
		return
	}
	o := cmd.dependencyOptions(template.ModuleTemplate{})
	o.Stored = stored
	found, err := module.FindVersionDependencies(cmd.c.Context, nil, of, o)
	if err != nil {
		cmd.out.Warn("%v", err)
		return
	}
	defer found.Close()
	for _, call := range found.Missing {
		cmd.out.Note("%v; to add it, use %s", call, remedy)
	}
}

// moduleMirrorOptions returns the options for mirroring packages from module
// registries.
func (cmd *command) moduleMirrorOptions() module.MirrorOptions {
	return module.MirrorOptions{
		Open: cmd.open, AllowIncomplete: cmd.c.Bool("allow-incomplete"),
	}
}

// dependencies reads the configurations that --root specifies.
func (cmd *command) dependencies() (*module.Dependencies, error) {
	if !cmd.c.IsSet("root") {
		return &module.Dependencies{}, nil
	}
	dirs, err := rootDirs(cmd.c, cmd.c.StringSlice("root"))
	if err != nil {
		return nil, err
	}
	o := cmd.moduleMirrorOptions()
	done := cmd.out.Step("reading configurations")
	dependencies, err := module.FindDependencies(cmd.c.Context, cmd.moduleOrigin(0), dirs, module.DependencyOptions{
		Open: o.Open, AllowIncomplete: o.AllowIncomplete, Environ: os.Environ(),
	})
	done()
	if err == nil {
		cmd.out.NonRegistryCalls(dependencies.NonRegistryCalls)
	}
	return dependencies, err
}

// moduleOrigin returns the source of modules in module registries. It caches responses
// for the given time or, if the time is zero, for the duration of the run.
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
