package main

import (
	"context"
	"errors"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/pkg/bundle"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sync"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

func bundleCreateCommand() *cli.Command {
	return newCommand("create", bundleCreate, []cli.Flag{
		fromFlag("`REPO`: source repositories"),
		sourcesFlag(),
		lockFileFlag("`FILE`: lock file, directory, or pattern (repeatable)"),
		rootFlag(),
		&cli.StringFlag{Name: "declaration", Category: commandline.GroupSelection, Usage: "select the stored versions that match the declaration in `FILE`"},
		&cli.StringSliceFlag{Name: "module", Category: commandline.GroupSelection, Usage: "`ADDRESS[@CONSTRAINT]`: select versions of this module (repeatable)"},
		&cli.StringFlag{Name: "modules-from", Category: commandline.GroupSelection, Usage: "`REPO`: source repositories for modules"},
	}, versionFlags("matching versions"), []cli.Flag{
		&cli.StringFlag{Name: "since", Category: commandline.GroupSelection, Usage: "omit the content that the inventory in `FILE` lists"},
		aliasFlag(),
		terraformFlag("with --lock-file: interpret lock files as Terraform does"),
		&cli.StringFlag{Name: "out", Category: commandline.GroupOperation, Usage: "write the bundle to `FILE`, such as up.tar; multiple parts become up.1.tar, up.2.tar, …"},
		&cli.StringFlag{Name: "part-size", Category: commandline.GroupOperation, Usage: "write parts of at most `SIZE`, such as 4GB"},
		signKeyFlag("sign the bundle with the key in `FILE`"),
		passphraseFlag(),
	}, trustFlags(), networkFlags(), outputFlags())
}

func bundleCreate(cmd *command) error {
	c := cmd.c
	var o bundle.CreateOptions
	if o.File = c.String("out"); o.File == "" {
		return usagef("missing --out: specify the file to write, such as --out mirror.tar")
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
	closure, err := cmd.closure()
	if err != nil {
		return nil, err
	}
	defer closure.Close()
	wanted = append(wanted, closure.Providers...)
	for _, r := range closure.Modules {
		wanted = append(wanted, bundledModule(r))
	}
	o.Publish.Verify = cmd.verifyBundled(cmd.signer != nil)
	o.From, err = cmd.bundleRepositories(addresses(wanted), "from")
	return wanted, err
}

// verifyBundled returns a function that verifies versions in a bundle. In signed
// bundles, unsigned modules are accepted even with "--signatures require", because
// module registries have no signatures.
func (cmd *command) verifyBundled(isSigned bool) func(context.Context, provider.Release) (provider.Verdict, error) {
	return func(ctx context.Context, r provider.Release) (provider.Verdict, error) {
		p := cmd.policy
		accepts := isSigned && r.Address.IsModule() && p.Mode == trust.ModeRequire
		if accepts {
			p.Mode = trust.ModeWarn
		}
		v, err := p.Verify(ctx, r)
		if accepts && v.Trust == provider.TrustUnsigned {
			v.Warning = ""
		}
		return v, err
	}
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
