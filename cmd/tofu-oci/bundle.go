package main

import (
	"errors"
	"io"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/pkg/bundle"
	"github.com/tofu-oci/tofu-oci/pkg/module"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/sync"
	"github.com/tofu-oci/tofu-oci/pkg/template"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

func bundleCommand() *cli.Command {
	return &cli.Command{
		Name:        "bundle",
		Subcommands: []*cli.Command{bundleCreateCommand(), bundleInventoryCommand(), bundleInspectCommand(), bundleVerifyCommand(), bundleImportCommand()},
	}
}

func bundleCreateCommand() *cli.Command {
	return newCommand("create", bundleCreate, []cli.Flag{
		fromFlag("`REPO`: source repositories"),
		sourcesFlag(),
		lockFileFlag("`FILE`: lock file, directory, or pattern (repeatable)"),
		rootFlag(),
		&cli.StringFlag{Name: "declaration", Category: commandline.GroupSelection, Usage: "the versions in targets that the declaration in `FILE` selects"},
		&cli.StringSliceFlag{Name: "module", Category: commandline.GroupSelection, Usage: "`ADDRESS[@CONSTRAINT]` of a module (repeatable)"},
		&cli.StringFlag{Name: "modules-from", Category: commandline.GroupSelection, Usage: "`REPO`: source repositories of modules"},
	}, versionFlags("matching versions"), []cli.Flag{
		&cli.StringFlag{Name: "since", Category: commandline.GroupSelection, Usage: "omit the content that the inventory in `FILE` lists"},
		aliasFlag(),
		&cli.StringFlag{Name: "out", Category: commandline.GroupOperation, Usage: "write the bundle to `FILE`; the parts are FILE.1.tar, FILE.2.tar, …"},
		&cli.StringFlag{Name: "part-size", Category: commandline.GroupOperation, Usage: "write parts of at most `SIZE`, such as 4GB"},
		signKeyFlag("sign the bundle with the key in `FILE`"),
		passphraseFlag(),
	}, trustFlags(), networkFlags(), outputFlags())
}

func bundleCreate(cmd *command) error {
	c := cmd.c
	var o bundle.CreateOptions
	if o.File = c.String("out"); o.File == "" {
		return usagef("missing --out: specify the file of the bundle, such as --out mirror.tar")
	}
	if err := parseSet(c, "part-size", &o.PartSize, commandline.ParseSize); err != nil {
		return err
	}
	if err := parseSet(c, "since", &o.Since, bundle.ReadInventory); err != nil {
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
		o.Sign = cmd.signer.Sign
	}
	o.Publish.Aliases = cmd.aliases
	o.Tool, o.Trust = "tofu-oci "+thisBuild().Version, string(cmd.policy.Rules.Bytes())
	o.Options = cmd.mirrorOptions(nil, o.Publish)
	parts, err := bundle.Create(c.Context, wanted, o)
	for _, p := range parts {
		cmd.out.PartWritten(p)
	}
	if errors.Is(err, bundle.ErrIncomplete) {
		cmd.out.Warn("%s", err)
		err = nil
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
	closure, err := cmd.closure()
	if err != nil {
		return nil, err
	}
	defer closure.Close()
	wanted = append(wanted, closure.Providers...)
	for _, r := range closure.Modules {
		wanted = append(wanted, bundledModule(r))
	}
	o.Publish.Verify = cmd.policy.Verify
	o.From, err = cmd.bundleRepositories(wanted, "from")
	return wanted, err
}

// declared returns the versions that --declaration selects.
func (cmd *command) declared(o *bundle.CreateOptions) ([]provider.Requirement, error) {
	s, done, err := syncOptions(cmd)
	if err != nil {
		return nil, err
	}
	defer done()
	wanted, from, err := sync.Stored(cmd.c.Context, s)
	cmd.policy.Rules = s.Policy.Rules
	o.From, o.Publish.Verify = cmd.openReader(from), s.Declaration.Verifier(cmd.policy)
	return wanted, err
}

// bundled returns the providers and modules of the arguments, --sources, --lock-file, and
// --module.
func (cmd *command) bundled() (wanted []provider.Requirement, err error) {
	modules := cmd.c.StringSlice("module")
	if len(modules) == 0 || hasProviders(cmd.c) || cmd.c.IsSet("lock-file") {
		selected, err := selectProviders(cmd)
		if err != nil {
			return nil, err
		}
		wanted = selected.requirements
	}
	for _, text := range modules {
		r, err := module.ParseRequirement(text)
		if err != nil {
			return nil, flagError("module", err)
		}
		wanted = append(wanted, bundledModule(r))
	}
	return wanted, nil
}

func bundledModule(r module.Requirement) provider.Requirement {
	return provider.Requirement{Address: provider.ModuleAddress(r.Address.String()), Constraint: r.Constraint}
}

// bundleRepositories returns a function that opens the repositories of providers and
// modules according to --from and --modules-from, or --to and --modules-to.
func (cmd *command) bundleRepositories(wanted []provider.Requirement, flag string) (func(provider.Address) (repository.Reader, error), error) {
	refs, err := cmd.bundleReferences(wanted, flag)
	return cmd.openReader(refs), err
}

func (cmd *command) bundleReferences(wanted []provider.Requirement, flag string) (map[provider.Address]template.Reference, error) {
	isModule := func(r provider.Requirement) bool { return r.Address.IsModule() }
	var providers template.Template
	var modules template.ModuleTemplate
	var err error
	if slices.ContainsFunc(wanted, isModule) {
		modules, err = moduleTemplate(cmd.c, "modules-"+flag)
	}
	if err == nil && slices.ContainsFunc(wanted, func(r provider.Requirement) bool { return !isModule(r) }) {
		providers, err = repositoryTemplate(cmd.c, flag)
	}
	if err != nil {
		return nil, err
	}
	return cmd.distinctTargets(flag, addresses(wanted), func(a provider.Address) (template.Reference, error) {
		if !a.IsModule() {
			return providers.Repository(a)
		}
		m, err := module.ParseAddress(a.Type)
		if err != nil {
			return template.Reference{}, err
		}
		return m.Repository(modules)
	})
}

func bundleInventoryCommand() *cli.Command {
	return newCommand("inventory", bundleInventory, []cli.Flag{
		fromFlag("`REPO`: repositories of providers"),
		providersFlag(),
		sourcesFlag(),
		&cli.StringSliceFlag{Name: "module", Category: commandline.GroupSelection, Usage: "`ADDRESS` of a module (repeatable)"},
		&cli.StringFlag{Name: "modules-from", Category: commandline.GroupSelection, Usage: "`REPO`: repositories of modules"},
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
			cmd.out.Warn("%s is omitted, because its provider is unknown", name)
		}
		wanted = l.Requirements()
	}
	named, err := cmd.bundled()
	if err != nil && (len(wanted) == 0 || hasProviders(cmd.c) || cmd.c.IsSet("module")) {
		return err
	}
	wanted = append(wanted, named...)
	open, err := cmd.bundleRepositories(wanted, "from")
	if err != nil {
		return err
	}
	return cmd.writeInventory("out", addresses(wanted), open)
}

// writeInventory writes the inventory of repositories to the file of a flag, or to
// stdout if the flag is empty.
func (cmd *command) writeInventory(flag string, all []provider.Address, open func(provider.Address) (repository.Reader, error)) error {
	inventory, err := bundle.NewInventory(cmd.c.Context, all, open)
	if err != nil {
		return err
	}
	text, err := inventory.Encode()
	if err != nil {
		return err
	}
	write := func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	}
	if path := cmd.c.String(flag); path != "" {
		return flagError(flag, atomicfile.Write(path, 0o644, write))
	}
	return write(cmd.c.App.Writer)
}

func bundleInspectCommand() *cli.Command {
	return newCommand("inspect", func(cmd *command) error {
		return cmd.withBundle(cmd.c.Args().Slice(), func(b *bundle.Bundle) error { return cmd.out.BundleInspected(b.Manifest) })
	}, outputFlags())
}

// bundleKeyringFlag returns the flag for the sender's keys.
func bundleKeyringFlag() cli.Flag {
	return &cli.StringFlag{Name: "bundle-keyring", Category: commandline.GroupTrust, Usage: "`FILE`: OpenPGP keys of the sender; requires a signed bundle"}
}

// withBundle opens the parts of a bundle, and calls do.
func (cmd *command) withBundle(files []string, do func(*bundle.Bundle) error) error {
	if len(files) == 0 {
		return usagef("specify at least one FILE, such as mirror.tar; see tofu-oci %s --help", cmd.c.Command.HelpName)
	}
	var verify func(document, signature []byte) error
	err := parseSet(cmd.c, "bundle-keyring", &verify, func(path string) (func(document, signature []byte) error, error) {
		keys, err := trust.ReadKeyring(path)
		return keys.Check, err
	})
	if err != nil {
		return err
	}
	b, err := bundle.Open(cmd.c.Context, files, verify)
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
		return cmd.withBundle(cmd.c.Args().Slice(), func(b *bundle.Bundle) error {
			problems, err := b.Verify(cmd.c.Context)
			if err != nil {
				return err
			}
			return cmd.out.BundleVerified(b.Manifest, problems)
		})
	}, []cli.Flag{bundleKeyringFlag()}, outputFlags())
}

func bundleImportCommand() *cli.Command {
	return newCommand("import", func(cmd *command) error { return cmd.withBundle(cmd.c.Args().Slice(), cmd.importBundle) }, []cli.Flag{
		toFlag("`REPO`: target repositories"),
		&cli.StringFlag{Name: "modules-to", Category: commandline.GroupSelection, Usage: "`REPO`: target repositories of modules"},
		aliasFlag(),
		dryRunFlag("print what would be sent, but send nothing"),
		&cli.BoolFlag{Name: "stage", Category: commandline.GroupOperation, Usage: "hide versions from OpenTofu until they are promoted"},
		&cli.BoolFlag{Name: "force", Category: commandline.GroupOperation, Usage: "replace conflicting tags; override denials"},
		checkLevelFlag("tags, index, blobs, or deep"),
		gateFlag(),
		missingRepositoryFlag(),
		failFastFlag(),
		&cli.BoolFlag{Name: "no-referrers", Category: commandline.GroupContent, Usage: "don't import attached artifacts, such as SBOMs and attestations"},
		&cli.StringFlag{Name: "receipt", Category: commandline.GroupOutput, Usage: "write the inventory of the target repositories to `FILE`, for bundle create --since"},
		bundleKeyringFlag(),
	}, trustFlags(), transferFlags(), networkFlags(), outputFlags())
}

func (cmd *command) importBundle(b *bundle.Bundle) error {
	wanted, err := b.Requirements()
	if err != nil {
		return err
	}
	o := publish.Options{NoReferrers: cmd.c.Bool("no-referrers"), Stage: cmd.c.Bool("stage")}
	if err := checkOption(cmd.c, &o); err != nil {
		return err
	}
	if err := cmd.prepare(); err != nil {
		return err
	}
	refs, err := cmd.bundleReferences(wanted, "to")
	if err != nil {
		return err
	}
	for _, damage := range b.Damaged {
		cmd.out.Warn("%s", damage)
	}
	o.Verify, o.Aliases = cmd.policy.Verify, cmd.aliases
	err = bundle.Import(cmd.c.Context, b, cmd.mirrorOptions(refs, o))
	if cmd.c.String("receipt") != "" && err == nil && !cmd.c.Bool("dry-run") {
		err = cmd.writeInventory("receipt", addresses(wanted), cmd.openReader(refs))
	}
	return cmd.out.FinishRun(err)
}
