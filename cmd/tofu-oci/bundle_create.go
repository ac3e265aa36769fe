package main

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/bundle"
	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/internal/sync"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/module"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

func bundleCreateCommand() *cli.Command {
	return newCommand("create", bundleCreate, []cli.Flag{
		fromFlag("read `REPO`"),
		sourcesFlag(),
		lockFileFlag("select the locked versions; `FILE` can be a pattern"),
		rootFlag("select requirements of `DIR` (recursive: DIR/...)"),
		&cli.StringFlag{Name: "declaration", Category: commandline.GroupSelection, Usage: "select the versions that match the declaration `FILE`"},
		&cli.StringSliceFlag{Name: "module", Category: commandline.GroupSelection, Usage: "select versions of the module `ADDRESS[@CONSTRAINT]`"},
		withDependenciesFlag(),
		&cli.StringFlag{Name: "modules-from", Category: commandline.GroupSelection, Usage: "read modules from `REPO`"},
	}, versionFlags("matching versions"), []cli.Flag{
		&cli.StringFlag{Name: "inventory", Category: commandline.GroupSelection, Usage: "omit the content that the inventory in `FILE` lists"},
		aliasFlag(),
		terraformFlag("interpret lock files as Terraform does"),
		&cli.StringFlag{Name: "out", Category: commandline.GroupOperation, Usage: "write the bundle to `FILE`, such as up.tar"},
		&cli.StringFlag{Name: "part-size", Category: commandline.GroupOperation, Usage: "write parts of at most `SIZE`, such as 4GB"},
		verboseFlag(),
		signKeyFlag("sign the bundle with the key in `FILE`"),
	}, trustFlags(), networkFlags(), outputFlags())
}

func bundleCreate(cmd *command) error {
	c := cmd.c
	var o bundle.CreateOptions
	if o.File = c.String("out"); o.File == "" {
		return usagef("missing --out: specify the file to write, such as --out mirror.tar")
	}
	if err := parseSet(c, "part-size", &o.PartSize, text.ParseSize); err != nil {
		return err
	}
	if err := parseSet(c, "inventory", &o.Since, bundle.ReadInventory); err != nil {
		return err
	}
	selectVersions := cmd.requested
	if c.String("declaration") != "" {
		selectVersions = cmd.declared
	}
	wanted, err := selectVersions(&o)
	if err != nil {
		return err
	}
	if cmd.signer != nil {
		o.Sign, o.Keys = cmd.signer.Sign, string(cmd.signer.Keys())
	}
	keys, err := cmd.policy.Keyring.Armored()
	if err != nil {
		return err
	}
	o.Publish.Aliases = cmd.aliases
	o.Tool, o.Trust, o.Keys = "tofu-oci "+thisBuild().Version, string(cmd.policy.Rules.Bytes()), o.Keys+string(keys)
	o.Options = cmd.mirrorOptions(nil)
	parts, err := bundle.Create(c.Context, wanted, o)
	for _, p := range parts {
		cmd.out.PartWritten(p)
	}
	if errors.Is(err, bundle.ErrIncomplete) {
		cmd.out.Warn("%s", err)
		return cmd.out.Finish()
	}
	return cmd.out.FinishRun(err)
}

// requested returns the providers and modules that arguments and flags select.
func (cmd *command) requested(o *bundle.CreateOptions) (wanted []provider.Requirement, err error) {
	if wanted, err = cmd.bundled(); err != nil {
		return nil, err
	}
	if err := cmd.prepare(); err != nil {
		return nil, err
	}
	if wanted, err = cmd.addModules(wanted); err != nil {
		return nil, err
	}
	o.Publish.Verify = cmd.verifyBundled(cmd.signer != nil, trust.Policy.VerifySignature)
	o.From, err = cmd.bundleRepositories(addresses(wanted), "from")
	return wanted, err
}

// addModules adds the providers and modules that the configurations in --root require.
// With --with-dependencies, it also adds the modules that the selected modules call.
// All modules come from the --modules-from repositories.
func (cmd *command) addModules(wanted []provider.Requirement) ([]provider.Requirement, error) {
	if !cmd.c.IsSet("root") && !cmd.c.IsSet("module") {
		return wanted, nil
	}
	// 1. Read the configurations.
	var t template.ModuleTemplate
	var err error
	if cmd.c.IsSet("module") || cmd.c.IsSet("modules-from") {
		if t, err = moduleTemplate(cmd.c, "modules-from"); err != nil {
			return nil, err
		}
	}
	o := cmd.dependencyOptions(t)
	o.Environ, o.OnError = os.Environ(), nil
	if t == (template.ModuleTemplate{}) {
		o.Stored = func(module.Address) (repository.Reader, error) {
			_, err := moduleTemplate(cmd.c, "modules-from")
			return nil, err
		}
	}
	dirs, err := rootDirs(cmd.c, cmd.c.StringSlice("root"))
	if err != nil {
		return nil, err
	}
	dependencies, err := module.FindDependencies(cmd.c.Context, nil, dirs, o)
	if err != nil {
		return nil, err
	}
	defer dependencies.Close()
	if err := dependencies.MissingErr(); err != nil {
		return nil, withHint(err, "mirror the modules with tofu-oci module mirror --root")
	}
	cmd.out.NonRegistryCalls(dependencies.NonRegistryCalls)
	named := slices.DeleteFunc(slices.Clone(wanted), func(r provider.Requirement) bool { return !r.Address.IsModule() })
	wanted = append(wanted, dependencies.Providers...)
	for _, r := range dependencies.Modules {
		wanted = append(wanted, bundledModule(r))
	}
	// 2. Find the modules that the modules in --module call.
	return cmd.addDependencies(wanted, named, t, o)
}

// addDependencies adds the modules that the named modules call if --with-dependencies
// is set. Otherwise, it prints the called modules that the bundle lacks.
func (cmd *command) addDependencies(wanted, named []provider.Requirement, t template.ModuleTemplate, o module.DependencyOptions) ([]provider.Requirement, error) {
	var selected []module.Requirement
	for _, r := range named {
		one, err := cmd.selectStored(r, t)
		if err != nil {
			return wanted, nil // bundle.Create reports the error
		}
		selected = append(selected, one...)
	}
	isIncluded := cmd.c.Bool("with-dependencies")
	if !isIncluded {
		o.OnError = func(_ string, err error) { cmd.out.Warn("%v", err) }
	}
	found, err := module.FindVersionDependencies(cmd.c.Context, nil, selected, o)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	if err := found.MissingErr(); err != nil && isIncluded {
		return nil, withHint(err, "mirror the modules with tofu-oci module mirror --with-dependencies")
	}
	for _, call := range found.Missing {
		cmd.out.Note("%v", call)
	}
	for _, r := range found.Modules {
		switch {
		case slices.ContainsFunc(selected, func(s module.Requirement) bool { return s.String() == r.String() }),
			slices.ContainsFunc(wanted, func(w provider.Requirement) bool { return w.String() == bundledModule(r).String() }):
		case isIncluded:
			wanted = append(wanted, bundledModule(r))
		default:
			cmd.out.Note("the bundle doesn't contain %s, which %s calls; to add it, use --with-dependencies", r, found.Roots[r.String()][0])
		}
	}
	return wanted, nil
}

// selectStored returns the stored versions of a module that a requirement selects.
func (cmd *command) selectStored(wanted provider.Requirement, t template.ModuleTemplate) (selected []module.Requirement, err error) {
	a, err := module.ParseAddress(wanted.Address.Type)
	if err != nil {
		return nil, err
	}
	ref, err := a.Repository(t)
	if err != nil {
		return nil, err
	}
	repo, err := cmd.open(ref)
	if err != nil {
		return nil, err
	}
	tags, err := repo.Tags(cmd.c.Context)
	if err != nil {
		return nil, err
	}
	versions, err := wanted.Select(artifact.Tags(artifact.ModuleTags(tags)).Released(), cmd.latest)
	for _, v := range versions {
		selected = append(selected, module.Requirement{Address: a, Constraint: provider.ExactConstraint(v)})
	}
	return selected, err
}

// verifyBundled returns a function that verifies versions in a bundle with a method of
// the policy. In signed bundles, unsigned modules are accepted even with
// "--signatures require", because module registries have no signatures.
func (cmd *command) verifyBundled(isSigned bool, verify func(trust.Policy, context.Context, provider.Release) (provider.Verdict, error)) func(context.Context, provider.Release) (provider.Verdict, error) {
	return func(ctx context.Context, r provider.Release) (provider.Verdict, error) {
		p := cmd.policy
		accepts := isSigned && r.Address.IsModule() && p.Mode == trust.ModeRequire
		if accepts {
			p.Mode = trust.ModeWarn
		}
		v, err := verify(p, ctx, r)
		if accepts && v.Trust == provider.TrustUnsigned {
			v.Warning = ""
		}
		return v, err
	}
}

// declared returns the versions that --declaration selects.
func (cmd *command) declared(o *bundle.CreateOptions) ([]provider.Requirement, error) {
	s, done, err := syncOptions(cmd, true)
	if err != nil {
		return nil, err
	}
	defer done()
	wanted, from, err := sync.Stored(cmd.c.Context, s)
	cmd.policy.Rules = s.Policy.Rules
	o.From, o.DenialsOf = cmd.openReader(from), slices.SortedFunc(maps.Keys(from), provider.Address.Compare)
	o.Publish.Verify = s.Declaration.Verifier(cmd.policy)
	return wanted, err
}
