package main

import (
	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/pkg/mirror"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
	"github.com/tofu-oci/tofu-oci/pkg/template"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

func mirrorCommand() *cli.Command {
	return newCommand("mirror", mirrorAction, []cli.Flag{
		toFlag("`REPO`: target repositories (default: first oci_mirror)"),
		platformFlag("only `OS_ARCH`, such as linux_amd64 (repeatable)"),
	}, versionFlags("matching versions"), []cli.Flag{
		sourcesFlag(),
		lockFileFlag("`FILE`: lock file, directory, or pattern (repeatable)"),
		rootFlag(),
		&cli.StringFlag{Name: "modules-to", Category: commandline.GroupSelection, Usage: "with --root: `REPO` for modules, with {name} and {system}"},
		&cli.StringFlag{Name: "min-age", Category: commandline.GroupSelection, Usage: "skip versions younger than `DURATION`, such as 3d"},
		aliasFlag(),
		dryRunFlag("print what would be sent, but send nothing"),
		&cli.BoolFlag{Name: "stage", Category: commandline.GroupOperation, Usage: "hide releases from OpenTofu until they are promoted"},
		&cli.BoolFlag{Name: "force", Category: commandline.GroupOperation, Usage: "overwrite conflicting content; override denials"},
		checkLevelFlag("tags, index, manifests, blobs, or deep"),
		&cli.BoolFlag{Name: "recheck", Category: commandline.GroupOperation, Usage: "compare existing releases with the origin registry"},
		gateFlag(), recordKeyFlag(), passphraseFlag(),
		failFastFlag(),
		attestationsFlag(),
		&cli.BoolFlag{Name: "no-h1", Category: commandline.GroupContent, Usage: "don't compute missing h1 hashes"},
		cacheFlag("read zips from the cache in `DIR`"),
	}, trustFlags(), artifactFlags(), transferFlags(), networkFlags(), outputFlags())
}

func mirrorAction(cmd *command) error {
	selected, err := selectProviders(cmd)
	if err != nil {
		return err
	}
	var options publish.Options
	if err := artifactOptions(cmd.c, &options); err != nil {
		return err
	}
	if err := cmd.prepare(); err != nil {
		return err
	}
	closure, err := cmd.closure()
	if err != nil {
		return err
	}
	defer closure.Close()
	if cmd.c.IsSet("modules-to") {
		err = cmd.mirrorModules("modules-to", closure.Modules, closure)
	}
	selected.requirements = append(selected.requirements, closure.Providers...)
	if err != nil || len(selected.requirements) == 0 {
		return cmd.out.FinishRun(err)
	}
	refs, err := cmd.targets(selected.requirements)
	if err != nil {
		return err
	}
	cmd.policy.History = &trust.SignerHistory{Source: oci.New(cmd.openReader(refs), cmd.aliases...)}
	options.Verify, options.Aliases, options.Platforms = cmd.policy.VerifyOffered, cmd.aliases, cmd.platforms
	options.Stage, options.NoH1, options.Recheck = cmd.c.Bool("stage"), cmd.c.Bool("no-h1"), cmd.c.Bool("recheck")
	// Don't add zips to the cache. A mirror transfers the zips of all platforms once,
	// which would evict the zips that pull requires.
	src := cmd.limit(source.NewCached(cmd.origin(), cmd.cache, source.CacheOptions{ReadOnly: true}), selected)
	return cmd.out.FinishRun(mirror.Run(cmd.c.Context, src, selected.requirements, cmd.mirrorOptions(refs, options)))
}

// mirrorOptions returns the options of a run that writes releases to repositories and
// reports its results.
func (cmd *command) mirrorOptions(refs map[provider.Address]template.Reference, o publish.Options) mirror.Options {
	o.Force, o.DryRun, o.Gates, o.RecordSigner = cmd.c.Bool("force"), cmd.c.Bool("dry-run"), cmd.gates.Option(), cmd.signer
	return cmd.out.WatchMirror(mirror.Options{
		Latest: cmd.latest, MinAge: cmd.minAge, FailFast: cmd.c.Bool("fail-fast"),
		Publisher: &publish.Publisher{Concurrency: cmd.concurrency, Progress: cmd.out.Progress()},
		Target: func(a provider.Address) (repository.Repository, publish.Options, error) {
			return cmd.openTarget(o, refs[a])
		},
	})
}
