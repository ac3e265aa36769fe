package main

import (
	"errors"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/pkg/bundle"
	"github.com/tofu-oci/tofu-oci/pkg/mirror"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

func bundleImportCommand() *cli.Command {
	return newCommand("import", func(cmd *command) error { return cmd.withBundle(cmd.c.Args().Slice(), cmd.importBundle) }, []cli.Flag{
		toFlag("`REPO`: target repositories"),
		&cli.StringFlag{Name: "modules-to", Category: commandline.GroupSelection, Usage: "`REPO`: target repositories for modules"},
		&cli.StringFlag{Name: "declaration", Category: commandline.GroupSelection, Usage: "use the gates, the policies, and each provider's first target from the declaration in `FILE`"},
		aliasFlag(),
		dryRunFlag("print what would be sent, but send nothing"),
		&cli.BoolFlag{Name: "stage", Category: commandline.GroupOperation, Usage: "hide versions from OpenTofu until they are promoted"},
		&cli.BoolFlag{Name: "force", Category: commandline.GroupOperation, Usage: "replace conflicting tags; override denials"},
		checkLevelFlag("tags, index, blobs, or deep"),
		gateFlag(), recordKeyFlag(), passphraseFlag(),
		missingRepositoryFlag(),
		failFastFlag(),
		&cli.BoolFlag{Name: "no-referrers", Category: commandline.GroupContent, Usage: "don't import attached artifacts, such as SBOMs and attestations"},
		&cli.StringFlag{Name: "receipt", Category: commandline.GroupOutput, Usage: "write the results and the inventory of the target repositories to `FILE`, for bundle create --since"},
		bundleKeyringFlag(),
	}, trustFlags(), transferFlags(), networkFlags(), outputFlags())
}

func (cmd *command) importBundle(b *bundle.Bundle) error {
	if err := cmd.prepare(); err != nil {
		return err
	}
	cmd.publishing.Verify = cmd.verifyBundled(b.Signed)
	all := b.Addresses()
	refs, options, err := cmd.importTargets(all)
	if err != nil {
		return err
	}
	for _, damage := range b.Damaged {
		cmd.out.Warn("%s", damage)
	}
	if missing := b.MissingParts(); len(missing) > 0 {
		cmd.out.Note("%v", &bundle.MissingPartError{Parts: missing, Total: b.Manifest.Parts})
	}
	report := options.OnResult
	options.OnResult = func(r mirror.Result) {
		if missing, ok := errors.AsType[*bundle.MissingPartError](r.Err); ok && len(missing.Parts) > 0 {
			r.Err = withHint(r.Err, "transfer the part again")
		}
		report(r)
	}
	imported, err := bundle.Import(cmd.c.Context, b, options)
	if cmd.c.String("receipt") != "" && err == nil && !cmd.c.Bool("dry-run") {
		err = cmd.writeInventory("receipt", all, cmd.openReader(refs), imported)
	}
	return cmd.out.FinishRun(err)
}

// importTargets returns an import's target repositories and options. Both can come from
// --declaration.
func (cmd *command) importTargets(all []provider.Address) (map[provider.Address]template.Reference, mirror.Options, error) {
	if cmd.c.String("declaration") == "" {
		refs, err := cmd.bundleReferences(all, "to")
		return refs, cmd.mirrorOptions(refs), err
	}
	d, err := readDeclaration(cmd.c)
	if err != nil {
		return nil, mirror.Options{}, err
	}
	policy, _, err := d.Policy(os.Getenv)
	if err != nil {
		return nil, mirror.Options{}, misuse(err)
	}
	policy.Keyring = cmd.policy.Keyring
	refs, err := cmd.distinctTargets("declaration", all, func(a provider.Address) (template.Reference, error) {
		return d.Import(a, policy, &publish.Options{})
	})
	options := cmd.mirrorOptions(refs)
	target := options.Target
	options.Target = func(a provider.Address) (repository.Repository, publish.Options, error) {
		repo, o, err := target(a)
		if err == nil {
			_, err = d.Import(a, policy, &o)
		}
		return repo, o, err
	}
	return refs, options, err
}
