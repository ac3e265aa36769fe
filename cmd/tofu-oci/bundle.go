package main

import (
	"errors"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/bundle"
	"github.com/tofu-oci/tofu-oci/internal/catalog"
	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/pkg/module"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

func bundleCommand() *cli.Command {
	return &cli.Command{
		Name:        "bundle",
		Subcommands: []*cli.Command{bundleCreateCommand(), bundleInventoryCommand(), bundleInspectCommand(), bundleVerifyCommand(), bundleImportCommand()},
	}
}

// bundled returns the providers and modules that the arguments, --sources, --lock-file,
// and --module select.
func (cmd *command) bundled() (wanted []provider.Requirement, err error) {
	if !cmd.c.IsSet("module") || hasProviders(cmd.c) || cmd.c.IsSet("lock-file") {
		selected, err := selectProviders(cmd)
		if err != nil {
			return nil, err
		}
		wanted = selected.requirements
	}
	err = parseAll(cmd.c, "module", &wanted, func(text string) (provider.Requirement, error) {
		r, err := module.ParseRequirement(text)
		return bundledModule(r), err
	})
	return wanted, err
}

func bundledModule(r module.Requirement) provider.Requirement {
	return provider.Requirement{Address: provider.ModuleAddress(r.Address.String()), Constraint: r.Constraint}
}

// bundleRepositories returns a function that opens the repositories of providers and
// modules. --from and --modules-from, or --to and --modules-to, specify the
// repositories.
func (cmd *command) bundleRepositories(all []provider.Address, flag string) (func(provider.Address) (repository.Reader, error), error) {
	refs, err := cmd.bundleReferences(all, flag)
	return cmd.openReader(refs), err
}

func (cmd *command) bundleReferences(all []provider.Address, flag string) (map[provider.Address]template.Reference, error) {
	t, err := cmd.bundleTemplates(all, flag)
	if err != nil {
		return nil, err
	}
	return cmd.distinctTargets(flag, all, t.repository)
}

// bundleTemplates are the templates of repositories for providers and modules. A
// template that isn't specified is zero.
type bundleTemplates struct {
	providers template.Template
	modules   template.ModuleTemplate
}

// bundleTemplates parses --from and --modules-from, or --to and --modules-to. A flag is
// required only if an address needs it.
func (cmd *command) bundleTemplates(all []provider.Address, flag string) (t bundleTemplates, err error) {
	isProvider := func(a provider.Address) bool { return !a.IsModule() }
	if flag := "modules-" + flag; cmd.c.IsSet(flag) || slices.ContainsFunc(all, provider.Address.IsModule) {
		t.modules, err = moduleTemplate(cmd.c, flag)
	}
	if err == nil && (cmd.c.IsSet(flag) || slices.ContainsFunc(all, isProvider)) {
		t.providers, err = repositoryTemplate(cmd.c, flag)
	}
	return t, err
}

// repository returns the repository of a provider or module. The template for its kind
// must not be zero.
func (t bundleTemplates) repository(a provider.Address) (template.Reference, error) {
	if !a.IsModule() {
		return t.providers.Repository(a)
	}
	m, err := module.ParseAddress(a.Type)
	if err != nil {
		return template.Reference{}, err
	}
	return m.Repository(t.modules)
}

// has reports whether the template for an address is specified.
func (t bundleTemplates) has(a provider.Address) bool {
	if a.IsModule() {
		return t.modules != template.ModuleTemplate{}
	}
	return t.providers != template.Template{}
}

// stored returns the addresses of all providers and modules in the repositories. If it
// can't list the repositories of a template, it returns an error and the addresses of
// the other templates.
func (t bundleTemplates) stored(cmd *command) (all []provider.Address, err error) {
	if t.providers != (template.Template{}) {
		l, listErr := catalog.List(cmd.c.Context, t.providers, cmd.catalogOptions())
		all, err = addresses(l.Requirements()), listErr
	}
	if t.modules != (template.ModuleTemplate{}) {
		modules, _, listErr := catalog.Modules(cmd.c.Context, t.modules, cmd.catalogOptions())
		for _, m := range modules {
			if m.Address != "" {
				all = append(all, provider.ModuleAddress(m.Address))
			}
		}
		err = errors.Join(err, listErr)
	}
	return all, err
}

func bundleInventoryCommand() *cli.Command {
	return newCommand("inventory", bundleInventory, []cli.Flag{
		fromFlag("list the providers in `REPO`"),
		sourcesFlag(),
		&cli.StringSliceFlag{Name: "module", Category: commandline.GroupSelection, Usage: "list the module `ADDRESS`"},
		&cli.StringFlag{Name: "modules-from", Category: commandline.GroupSelection, Usage: "list the modules in `REPO`"},
		&cli.StringFlag{Name: "out", Category: commandline.GroupOutput, Usage: "write the inventory to `FILE` instead of stdout"},
	}, networkFlags(), []cli.Flag{quietFlag()})
}

func bundleInventory(cmd *command) error {
	if err := cmd.connect(); err != nil {
		return err
	}
	var wanted []provider.Requirement
	if cmd.c.IsSet("from") && !hasProviders(cmd.c) {
		l, err := cmd.catalogListing()
		if err != nil {
			return err
		}
		for _, name := range cmd.out.Unknown(l) {
			cmd.out.Warn("omitting %s: its provider is unknown", name)
		}
		wanted = l.Requirements()
	}
	if cmd.c.IsSet("modules-from") && !cmd.c.IsSet("module") {
		modules, err := cmd.storedModules()
		if err != nil {
			return err
		}
		wanted = append(wanted, modules...)
	}
	named, err := cmd.bundled()
	if err != nil && (len(wanted) == 0 || hasProviders(cmd.c) || cmd.c.IsSet("module")) {
		return err
	}
	wanted = append(wanted, named...)
	open, err := cmd.bundleRepositories(addresses(wanted), "from")
	if err != nil {
		return err
	}
	inventory, err := bundle.NewInventory(cmd.c.Context, addresses(wanted), open)
	if err != nil {
		return err
	}
	return cmd.writeInventory("out", inventory)
}

// storedModules returns the modules in the --modules-from repositories.
func (cmd *command) storedModules() (wanted []provider.Requirement, err error) {
	t, err := moduleTemplate(cmd.c, "modules-from")
	if err != nil {
		return nil, err
	}
	modules, unknown, err := catalog.Modules(cmd.c.Context, t, cmd.catalogOptions())
	for _, m := range modules {
		if m.Address == "" {
			unknown = append(unknown, m.Reference)
			continue
		}
		wanted = append(wanted, provider.Requirement{Address: provider.ModuleAddress(m.Address)})
	}
	for _, ref := range unknown {
		cmd.out.Warn("omitting %s: the address of its module is unknown", ref)
	}
	return wanted, err
}

// writeInventory writes an inventory to the file that a flag specifies. If the flag
// isn't set, it writes to stdout.
func (cmd *command) writeInventory(flag string, inventory *bundle.Inventory) error {
	text, err := inventory.Encode()
	if err != nil {
		return err
	}
	if path := cmd.c.String(flag); path != "" {
		return flagError(flag, atomicfile.WriteFile(path, 0o644, text))
	}
	_, err = cmd.c.App.Writer.Write(text)
	return err
}

func bundleInspectCommand() *cli.Command {
	return newCommand("inspect", func(cmd *command) error {
		return cmd.withBundle(cmd.c.Args().Slice(), func(b *bundle.Bundle) error { return cmd.out.BundleInspected(b.Manifest) })
	}, outputFlags())
}

// bundleKeyringFlag returns the flag for the sender's keys.
func bundleKeyringFlag() cli.Flag {
	return &cli.StringFlag{Name: "bundle-keyring", Category: commandline.GroupTrust, Usage: "require a bundle signed with an OpenPGP key in `FILE`"}
}

// withBundle opens the parts of a bundle and calls do with the bundle.
func (cmd *command) withBundle(files []string, do func(*bundle.Bundle) error) error {
	if len(files) == 0 {
		return usagef("specify at least one FILE, such as mirror.tar; see tofu-oci %s --help", cmd.c.Command.HelpName)
	}
	var verify func(document, signature []byte) error
	err := parseSet(cmd.c, "bundle-keyring", &verify, func(path string) (func(document, signature []byte) error, error) {
		keys, err := cmd.readKeyring(path)
		check := func(document, signature []byte) error {
			return withHint(keys.Check(document, signature), "add the sender's key to --bundle-keyring; if it is already there, don't use the bundle")
		}
		return check, err
	})
	if err != nil {
		return err
	}
	b, err := bundle.Open(cmd.c.Context, files, verify)
	if _, damaged := errors.AsType[*bundle.DamagedError](err); damaged {
		err = withHint(err, "specify only the parts of one bundle; if the file is damaged, transfer it again")
	}
	if err != nil {
		return err
	}
	defer func() { _ = b.Close() }()
	if !b.Signed && commandline.FlagNamed(cmd.c.Command, "bundle-keyring") != nil {
		cmd.out.Note("the sender of the bundle is not verified; use --bundle-keyring FILE")
	}
	return do(b)
}

func bundleVerifyCommand() *cli.Command {
	return newCommand("verify", func(cmd *command) error {
		err := cmd.withBundle(cmd.c.Args().Slice(), func(b *bundle.Bundle) error {
			problems, err := b.Verify(cmd.c.Context)
			if err != nil {
				return err
			}
			return cmd.out.BundleVerified(b.Manifest, problems)
		})
		if _, damaged := errors.AsType[*bundle.DamagedError](err); damaged {
			return cmd.out.BundleVerified(bundle.Manifest{}, []error{err})
		}
		return err
	}, []cli.Flag{bundleKeyringFlag()}, outputFlags())
}
