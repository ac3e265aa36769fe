package main

import (
	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/internal/launch"
	"github.com/tofu-oci/tofu-oci/pkg/mirror"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/builddir"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

func publishCommand() *cli.Command {
	return newCommand("publish", publishAction, []cli.Flag{
		&cli.StringFlag{Name: "provider", Category: commandline.GroupSelection, Usage: "publish as `ADDRESS`, [HOST/]NAMESPACE/TYPE"},
		toFlag("write to `REPO` (default: the first oci_mirror)"),
		platformFlag("select only `OS_ARCH`, such as linux_amd64"),
		aliasFlag(),
		dryRunFlag("check and compare the packages, but send nothing"),
		&cli.BoolFlag{Name: "force", Category: commandline.GroupOperation, Usage: "overwrite conflicting content; override denials"},
		checkLevelFlag("check existing versions: `LEVEL` is index, manifests, blobs, or deep"),
		&cli.BoolFlag{Name: "no-referrers", Category: commandline.GroupOperation, Usage: "don't attach SBOMs and attestations"},
		&cli.BoolFlag{Name: "skip-checks", Category: commandline.GroupOperation, Usage: "don't check the contents of the zips"},
		launchFlag(),
		gateFlag(),
		failFastFlag(),
		verboseFlag(),
		signKeyFlag("sign unsigned releases with the key in `FILE`"),
	}, trustFlags(), artifactFlags(), transferFlags(), networkFlags(), outputFlags())
}

func publishAction(cmd *command) error {
	if !cmd.c.Args().Present() {
		return usagef("specify a PATH, such as dist; see tofu-oci publish --help")
	}
	if cmd.c.String("provider") == "" {
		return usagef("missing --provider: specify the provider's address, such as --provider example.com/acme/widget")
	}
	var a provider.Address
	if err := parse(cmd.c, "provider", &a, provider.ParseAddress); err != nil {
		return err
	}
	if err := cmd.prepare(); err != nil {
		return err
	}
	options := cmd.publishing
	options.Operation = "publishing"
	if signer, signs := cmd.signer.(trust.Signer); signs && cmd.policy.Keyring.IsZero() {
		cmd.policy.Keyring = signer.Keyring() // only the signer's key is trusted
	}
	options.Signing.Signer = cmd.signer
	if options.Verify = cmd.policy.VerifySignature; !cmd.policy.Keyring.IsZero() {
		options.Signing.Keys = cmd.policy.Keyring.KeysOf
	}
	src, err := builddir.New(a, cmd.c.Args().Slice()...)
	if err != nil {
		return misuse(err)
	}
	refs, err := cmd.targets([]provider.Requirement{{Address: a}})
	if err != nil {
		return err
	}
	repo, err := cmd.openTarget(refs[a])
	if err != nil {
		return err
	}
	return cmd.publish(src, a, repo, options)
}

// publish publishes the releases in a build directory. It checks all releases before it
// publishes any release.
func (cmd *command) publish(src *builddir.Source, a provider.Address, repo repository.Repository, options publish.Options) error {
	ctx, out := cmd.c.Context, cmd.out
	src.OnNote = out.NoteOnce
	for _, path := range src.Ignored() {
		if name, ok := src.SuggestName(path); ok {
			path += "; if it is a package, rename it to " + name
		}
		out.Note("ignored %s", path)
	}
	wanted, err := src.Requirements(ctx, a)
	if err != nil {
		return err
	}
	if out.Unchecked = cmd.c.Bool("skip-checks"); out.Unchecked {
		out.Warn("the packages were not checked because of --skip-checks")
	} else {
		started := func(r provider.Requirement) (done func()) { return out.Step("checking %s", r) }
		var warnings []string
		warnings, err = src.CheckAll(ctx, wanted, started, options.Platforms...)
		for _, w := range warnings {
			out.Warn("%s", w)
		}
	}
	if err == nil && cmd.c.Bool("launch") {
		err = launch.Many(ctx, src, wanted, options.Platforms, cmd.launcher(src), func(r provider.Release) {
			out.Warn("%s %s was not launched, because it has no package for %s", r.Address, r.Version, provider.CurrentPlatform())
		})
	}
	if err != nil {
		return err
	}
	err = mirror.Run(ctx, src, wanted, out.WatchMirror(mirror.Options{
		Publisher: &publish.Publisher{Concurrency: cmd.concurrency, Progress: out.Progress()}, FailFast: cmd.c.Bool("fail-fast"),
		Target: func(provider.Address) (repository.Repository, publish.Options, error) { return repo, options, nil },
	}))
	return out.FinishRun(err)
}
