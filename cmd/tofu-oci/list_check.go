package main

import (
	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/verify"
)

// listChecked shows versions, each with how much of it is there.
func listChecked(c *cli.Context, out *report.Report, cmd *command, r provider.Requirement) error {
	check, err := repository.ParseDepth(c.String("check-level"))
	if err != nil || check == repository.DepthTags {
		return usagef("--check-level %s: must be index, manifests, blobs or deep", c.String("check-level"))
	}
	repo, from, err := cmd.audited(r.Address)
	if err != nil {
		return err
	}
	tags, err := repo.Tags(c.Context)
	if err != nil {
		return err
	}
	versions := artifact.Tags(tags).Released()
	if !r.Constraint.IsZero() {
		if versions, err = r.Select(versions, 0); err != nil {
			return err
		}
	}
	done := out.Step("looking at %s of %s", report.Counted(len(versions), "version"), r.Address)
	found, err := verify.Statuses(c.Context, repo, r.Address, versions, check, verify.Options{Aliases: cmd.aliases, Template: from})
	done()
	if err != nil {
		return err
	}
	return out.ListStatuses(r.Address, found)
}
