package main

import (
	"errors"
	"maps"
	"os"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/bundle"
	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/pkg/mirror"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

func bundleImportCommand() *cli.Command {
	return newCommand("import", func(cmd *command) error { return cmd.withBundle(cmd.c.Args().Slice(), cmd.importBundle) }, []cli.Flag{
		toFlag("write providers to `REPO`"),
		&cli.StringFlag{Name: "modules-to", Category: commandline.GroupSelection, Usage: "write modules to `REPO`"},
		&cli.StringFlag{Name: "declaration", Category: commandline.GroupSelection, Usage: "use the targets, gates, and policies in the declaration `FILE`"},
		aliasFlag(),
		dryRunFlag("print what would be sent, but send nothing"),
		&cli.BoolFlag{Name: "stage", Category: commandline.GroupOperation, Usage: "hide versions from OpenTofu until promoted"},
		&cli.BoolFlag{Name: "force", Category: commandline.GroupOperation, Usage: "replace conflicting tags; override denials"},
		checkLevelFlag("check existing versions: `LEVEL` is tags, index, blobs, or deep"),
		gateFlag(), recordKeyFlag(),
		missingRepositoryFlag(),
		failFastFlag(),
		verboseFlag(),
		&cli.BoolFlag{Name: "no-referrers", Category: commandline.GroupOperation, Usage: "don't import SBOMs and attestations"},
		&cli.StringFlag{Name: "inventory", Category: commandline.GroupOutput, Usage: "write the inventory of the target repositories to `FILE`, for bundle create --inventory"},
		bundleKeyringFlag(),
	}, trustFlags(), transferFlags(), networkFlags(), outputFlags())
}

func (cmd *command) importBundle(b *bundle.Bundle) error {
	if err := cmd.prepare(); err != nil {
		return err
	}
	cmd.publishing.Verify = cmd.verifyBundled(b.Signed, trust.Policy.VerifySignature)
	all := b.Addresses()
	to, err := cmd.importTargets(all)
	if err != nil {
		return err
	}
	options := to.options
	for _, damage := range b.Damaged {
		cmd.out.Warn("%s", damage)
	}
	onResult := options.OnResult
	var incomplete []provider.Address
	options.OnResult = func(r mirror.Result) {
		if missing, ok := errors.AsType[*bundle.MissingPartError](r.Err); ok && len(missing.Parts) > 0 {
			r.Err = withHint(r.Err, "transfer the part again")
			incomplete = append(incomplete, r.Item.Requirement.Address)
		}
		onResult(r)
	}
	imported, err := bundle.Import(cmd.c.Context, b, options)
	if err == nil {
		err = cmd.noteMissingParts(b, incomplete, cmd.openReader(to.refs))
	}
	if cmd.c.String("inventory") != "" && err == nil && !cmd.c.Bool("dry-run") {
		err = cmd.writeInventoryOf(to, imported)
	}
	return cmd.out.FinishRun(err)
}

// writeInventoryOf writes the results of an import and the inventory of the target
// repositories to the --inventory file. The inventory includes the repositories that
// the bundle doesn't contain, so that the next bundle can omit their content. It finds
// these repositories in the registry's list and, because many registries don't list
// repositories, in the previous inventory.
func (cmd *command) writeInventoryOf(to importTargets, imported []bundle.Imported) error {
	open := cmd.openReader(to.refs)
	inventory, err := bundle.NewInventory(cmd.c.Context, slices.Collect(maps.Keys(to.refs)), open)
	if err != nil {
		return err
	}
	inventory.Imported = imported
	// 1. List the addresses of all other repositories.
	known := map[template.Reference]bool{}
	for _, ref := range to.refs {
		known[ref] = true
	}
	previous, _ := bundle.ReadInventory(cmd.c.String("inventory")) // if it is invalid, it is replaced
	others := previous.Addresses()
	for _, t := range to.templates {
		stored, err := t.stored(cmd)
		if others = append(others, stored...); err != nil && !errors.Is(err, repository.ErrNoRepository) {
			cmd.out.Note("the inventory might lack repositories that are neither in the bundle nor in the previous inventory: %v", err)
		}
	}
	// 2. List their content.
	omitted := 0
	for _, a := range others {
		if !slices.ContainsFunc(to.templates, func(t bundleTemplates) bool { return t.has(a) }) {
			omitted++
			continue
		}
		ref, err := to.find(a)
		if err != nil || known[ref] {
			continue
		}
		known[ref], to.refs[a] = true, ref
		one, err := bundle.NewInventory(cmd.c.Context, []provider.Address{a}, open)
		if err != nil {
			cmd.out.Warn("omitting %s from the inventory: %v", a, err)
			continue
		}
		inventory.Add(one)
	}
	if omitted > 0 {
		cmd.out.Note("the inventory omits %s of the previous inventory; to include all items, specify both --to and --modules-to", report.Counted(omitted, "item"))
	}
	if err := cmd.c.Context.Err(); err != nil {
		return err
	}
	return cmd.writeInventory("inventory", inventory)
}

// noteMissingParts prints the parts that incomplete repositories still need. The
// repositories contain the content of earlier imports.
func (cmd *command) noteMissingParts(b *bundle.Bundle, incomplete []provider.Address, open func(provider.Address) (repository.Reader, error)) error {
	missing, err := b.StillMissing(cmd.c.Context, incomplete, open)
	if len(missing) > 0 {
		cmd.out.Note("still %v; import the parts in any order", &bundle.MissingPartError{Parts: missing, Total: b.Manifest.Parts})
	}
	return err
}

// importTargets are the targets and options of an import.
type importTargets struct {
	// refs contains the repositories of the bundle's providers and modules.
	refs    map[provider.Address]template.Reference
	options mirror.Options
	// templates are the templates of the repositories, and find returns the repository
	// of a provider or module.
	templates []bundleTemplates
	find      func(provider.Address) (template.Reference, error)
}

// importTargets returns an import's target repositories and options. Both can come from
// --declaration.
func (cmd *command) importTargets(all []provider.Address) (to importTargets, err error) {
	if cmd.c.String("declaration") == "" {
		t, err := cmd.bundleTemplates(all, "to")
		if err != nil {
			return to, err
		}
		to.templates, to.find = []bundleTemplates{t}, t.repository
		to.refs, err = cmd.distinctTargets("to", all, to.find)
		to.options = cmd.mirrorOptions(to.refs)
		return to, err
	}
	d, err := readDeclaration(cmd.c)
	if err != nil {
		return to, err
	}
	policy, _, err := d.Policy(os.Getenv)
	if err != nil {
		return to, misuse(err)
	}
	policy.Keyring = cmd.policy.Keyring
	for _, t := range d.Targets {
		to.templates = append(to.templates, bundleTemplates{t.Template, t.Modules})
	}
	to.find = func(a provider.Address) (template.Reference, error) { return d.Import(a, policy, &publish.Options{}) }
	to.refs, err = cmd.distinctTargets("declaration", all, to.find)
	to.options = cmd.mirrorOptions(to.refs)
	target := to.options.Target
	to.options.Target = func(a provider.Address) (repository.Repository, publish.Options, error) {
		repo, o, err := target(a)
		if err == nil {
			_, err = d.Import(a, policy, &o)
		}
		return repo, o, err
	}
	return to, err
}
