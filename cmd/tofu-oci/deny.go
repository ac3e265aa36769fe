package main

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/explain"
	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

func denyCommand() *cli.Command {
	return &cli.Command{
		Name:      "deny",
		Usage:     "record why a version is not to be used, and delete its tags",
		ArgsUsage: "PROVIDER@VERSION --reason TEXT [--to REPO] [FLAG...]",
		Description: strings.TrimSpace(`
Records the reason in the repository, under the tag denied-VERSION and as a referrer
of the release. Then deletes the tag of the version, if it is released, and the tag
pending-VERSION, if it is staged. The registry may then collect the release as garbage,
but not the record. All commands treat the version as denied, whatever its zips are: a
run that names it exactly exits with code 4, and other runs skip and report it.

If the registry doesn't delete tags, a plain tofu init can still install the version
until you delete its tag yourself. deny prints how, and exits with code 3. The tag
pending-VERSION then points to the record.

promote --force with the version's name removes the denial.

Examples:
   tofu-oci deny hashicorp/null@3.2.4 --to ghcr.io/acme/providers/{namespace}/{type} \
      --reason 'crashes on arm64, see OPS-4711' --by jane`),
		Flags: slices.Concat([]cli.Flag{
			&cli.StringFlag{Name: "to", Usage: "repository template `REPO` that has the version (default: what the first oci_mirror of the CLI configuration names for it)"},
			&cli.StringFlag{Name: "reason", Usage: "record `TEXT` as the reason; everyone who can read the repository can read it"},
			&cli.StringFlag{Name: "by", Usage: "record `NAME` as the person who decided (default: none)"},
			&cli.BoolFlag{Name: "dry-run", Usage: "look only, write nothing"},
			aliasFlag(),
		}, networkFlags(), outputFlags()),
		Action: printing(denyAction),
	}
}

func denyAction(c *cli.Context, out *report.Report) error {
	wanted, err := requirements(c, out)
	if err != nil {
		return err
	}
	r := wanted[0]
	v, exact := r.Constraint.Exact()
	switch {
	case len(wanted) > 1:
		return usagef("deny takes one PROVIDER@VERSION, not %d: each denial has its own reason", len(wanted))
	case !exact:
		return usagef("%s: name the version to deny: %s@VERSION", c.Args().First(), r.Address)
	case strings.TrimSpace(c.String("reason")) == "":
		return usagef("--reason is missing: say why, for those who ask later")
	}
	cmd, err := connect(c, out)
	if err != nil {
		return err
	}
	refs, err := cmd.targets(wanted)
	if err != nil {
		return err
	}
	repo, err := repository.Open(refs[r.Address], cmd.repos)
	if err != nil {
		return err
	}
	o := approval.DenyOptions{Reason: c.String("reason"), By: c.String("by"), Aliases: cmd.aliases, DryRun: c.Bool("dry-run")}
	done, err := approval.Deny(c.Context, repo, r.Address, v, o)
	if err != nil {
		out.Failed(r, v, repo.String(), err)
	} else {
		out.Decided(repo.String(), done)
	}
	err = errors.Join(out.Finish(), c.Context.Err())
	if err == nil && done.Live != nil {
		out.Warn("%s %s is denied, and a plain tofu init can still install it: %s", r.Address, v, cmp.Or(explain.UntagHint(done.Live), "delete its tag"))
		return &explain.ExitError{Code: explain.ExitPartly}
	}
	return err
}
