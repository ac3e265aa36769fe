package main

import (
	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/pkg/mirror"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

func copyCommand() *cli.Command {
	return newCommand("copy", copyAction, []cli.Flag{
		fromFlag("read `REPO`"),
		toFlag("write to `REPO` (default: the first oci_mirror)"),
		sourcesFlag(),
	}, versionFlags("matching versions"), []cli.Flag{
		aliasFlag(),
		dryRunFlag("print what would be sent, but send nothing"),
		&cli.BoolFlag{Name: "force", Category: commandline.GroupOperation, Usage: "replace conflicting tags; override denials"},
		checkLevelFlag("check existing versions: `LEVEL` is tags, index, blobs, or deep"),
		gateFlag(), recordKeyFlag(),
		missingRepositoryFlag(),
		failFastFlag(),
		verboseFlag(),
		&cli.BoolFlag{Name: "no-referrers", Category: commandline.GroupOperation, Usage: "don't copy SBOMs and attestations"},
		digestFileFlag(),
	}, trustFlags(), transferFlags(), networkFlags(), outputFlags())
}

func copyAction(cmd *command) error {
	wanted, err := requiredProviders(cmd)
	if err != nil {
		return err
	}
	var from template.Template
	if !wanted[0].Address.IsModule() {
		if from, err = repositoryTemplate(cmd.c, "from"); err != nil {
			return err
		}
	}
	if err := cmd.prepare(); err != nil {
		return err
	}
	if wanted, err = cmd.expandModules(wanted); err != nil {
		return err
	}
	refs, err := cmd.targets(wanted)
	if err != nil {
		return err
	}
	if err := checkSourceAndTarget(from, refs); err != nil {
		return err
	}
	cmd.publishing.Verify = cmd.policy.VerifySignature
	open := func(a provider.Address) (repository.Reader, error) {
		repo, _, err := cmd.openRaw(a)
		return repo, err
	}
	o := cmd.mirrorOptions(refs)
	report := o.OnResult
	o.OnResult = func(r mirror.Result) {
		r.Err = cmd.withRemedy(r.Err)
		report(r)
	}
	return cmd.out.FinishRun(mirror.Copy(cmd.c.Context, open, wanted, o))
}

// checkSourceAndTarget returns an error if a target repository is also its source.
func checkSourceAndTarget(from template.Template, refs map[provider.Address]template.Reference) error {
	for a, to := range refs {
		find := from.Repository
		if a.IsModule() {
			find = moduleRepository
		}
		if ref, err := find(a); err == nil && ref == to {
			return usagef("cannot copy %s from %s to itself; specify different repositories with --from and --to", a, to)
		}
	}
	return nil
}
