package main

import (
	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/internal/text"
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
		fromFlag("read zips from the network mirror at `URL`"),
		toFlag("write to `REPO` (default: the first oci_mirror)"),
		platformFlag("select only `OS_ARCH`, such as linux_amd64"),
	}, versionFlags("matching versions"), []cli.Flag{
		sourcesFlag(),
		lockFileFlag("select the locked versions; `FILE` can be a pattern"),
		rootFlag("select requirements of `DIR` (recursive: DIR/...)"),
		&cli.StringFlag{Name: "modules-to", Category: commandline.GroupSelection, Usage: "with --root: mirror modules to `REPO`"},
		&cli.StringFlag{Name: "min-age", Category: commandline.GroupSelection, Usage: "skip versions younger than `DURATION`, such as 3d"},
		aliasFlag(),
		terraformFlag("interpret lock files as Terraform does"),
		dryRunFlag("print what would be sent, but send nothing"),
		&cli.BoolFlag{Name: "stage", Category: commandline.GroupOperation, Usage: "hide releases from OpenTofu until promoted"},
		&cli.BoolFlag{Name: "force", Category: commandline.GroupOperation, Usage: "overwrite conflicting content; override denials"},
		checkLevelFlag("check existing versions: `LEVEL` is tags, index, manifests, blobs, or deep"),
		againstOriginFlag("compare existing releases with their origin"),
		gateFlag(), recordKeyFlag(),
		failFastFlag(),
		verboseFlag(),
		attestationsFlag(),
		h1Flag("compute h1 hashes; `MODE` is auto or skip"),
		cacheFlag("read zips from the cache in `DIR`"),
	}, trustFlags(), artifactFlags(), transferFlags(), networkFlags(), outputFlags())
}

func mirrorAction(cmd *command) error {
	selected, err := selectProviders(cmd)
	if err != nil {
		return err
	}
	if err := cmd.prepare(); err != nil {
		return err
	}
	dependencies, err := cmd.dependencies()
	if err != nil {
		return err
	}
	defer dependencies.Close()
	if cmd.c.IsSet("modules-to") {
		_, err = cmd.mirrorModules("modules-to", dependencies.Modules, dependencies)
	}
	selected.requirements = append(selected.requirements, dependencies.Providers...)
	if err != nil || len(selected.requirements) == 0 {
		return cmd.out.FinishRun(err)
	}
	refs, err := cmd.targets(selected.requirements)
	if err != nil {
		return err
	}
	cmd.warnSharedRepository()
	cmd.policy.History = &trust.SignerHistory{Source: oci.New(cmd.openReader(refs), cmd.aliases...)}
	cmd.publishing.Verify = cmd.policy.VerifyOffered
	// Don't add zips to the cache. mirror transfers the zips of all platforms only once,
	// and adding them would evict the zips that pull requires.
	var from provider.Source = cmd.origin()
	if cmd.fromURL != nil {
		from = cmd.networkMirror(cmd.fromURL)
	}
	src := cmd.limit(source.NewCached(from, cmd.cache, source.CacheOptions{ReadOnly: true}), selected)
	return cmd.out.FinishRun(mirror.Run(cmd.c.Context, src, selected.requirements, cmd.mirrorOptions(refs)))
}

// warnSharedRepository warns about a --to template that doesn't contain the type,
// because different providers would use the same tags.
func (cmd *command) warnSharedRepository() {
	t, err := repositoryTemplate(cmd.c, "to")
	if _, _, usesType := t.Uses(); err == nil && !usesType { // without --to, OpenTofu checks the template
		cmd.out.Warn("--to has no {type}, so %s can contain only one provider; to mirror others, use a template such as %s", t.Redacted(), text.Quote(t.Redacted()+"/{namespace}/{type}"))
	}
}

// mirrorOptions returns the options for a run that writes releases to repositories and
// reports its results.
func (cmd *command) mirrorOptions(refs map[provider.Address]template.Reference) mirror.Options {
	return cmd.out.WatchMirror(mirror.Options{
		Latest: cmd.latest, MinAge: cmd.minAge, FailFast: cmd.c.Bool("fail-fast"),
		Publisher: &publish.Publisher{Concurrency: cmd.concurrency, Progress: cmd.out.Progress()},
		Target: func(a provider.Address) (repository.Repository, publish.Options, error) {
			repo, err := cmd.openTarget(refs[a])
			return repo, cmd.publishing, err
		},
	})
}
