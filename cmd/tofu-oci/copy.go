package main

import (
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/pkg/mirror"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// copyText is what the help of copy begins with.
const copyText = `Copies releases byte for byte: digests stay, and with them lock files and what was
signed. All platforms go, with their sums, signatures, keys and SBOMs, and what
refers to a release or to one of its packages comes along. What the target has is not
sent, within one registry nothing is, and the tag is written last.

The origin is not asked. The signature is judged as pull judges it, before anything
is sent: by --keyring or by the keys that the trust file pins.

What becomes of a tag that is there is decided by its zips; other evidence makes no
other release, and none gets lost:
   unchanged  the tag is the same; or it has all zips of the source, and evidence or
              platforms that the source lacks, or only other annotations: then it
              stays as it is, and the result says so
   extended   the source has platforms or documents that the target lacks, and all
              that the target has; or more came that refers to the release
   repaired   something that the tag needs was lost, and is back
   conflict   another zip under a platform; another provider; or platforms are to be
              added, and what the target has besides would get lost: exit code 4
   replaced   the tag is now that of the source, as --force says

A version that the source or the target denies is skipped and reported as denied. If a
PROVIDER names it exactly, that is an error, exit code 4, unless --force overrules the
target.

--check-level says how hard a version that is there is looked at:
   tags       the list of tags has it. Misses all that came to the version later
   index      its index is the source's. Misses what was lost below it, and what
              came later that refers to the release
   blobs      manifests and blobs are there, and what refers to them. Misses bytes that
              rotted in a registry
   deep       blobs are read, and have their digests

Examples:
   # from the carried directory into the registry inside
   tofu-oci copy hashicorp/null hashicorp/time --all \
      --from oci-layout:/media/stick/mirror/{namespace}/{type} \
      --to registry.inside.example/tofu/{namespace}/{type}

   # what a file lists, from the registry for tests into the one for all
   tofu-oci copy --sources providers.txt --from registry.example.com/staging/{namespace}/{type} \
      --to registry.example.com/tofu/{namespace}/{type} --signatures require --trust trust.hcl

   # three versions of a range, and first what would be done
   tofu-oci copy 'hashicorp/aws@~> 5.0' --latest 3 --from ghcr.io/acme/providers/{namespace}/{type} \
      --to oci-layout:mirror/{namespace}/{type} --dry-run`

func copyCommand() *cli.Command {
	return &cli.Command{
		Name:        "copy",
		Usage:       "copy releases from one OCI repository into another, byte for byte",
		ArgsUsage:   "[PROVIDER...] --from REPO [--to REPO] [FLAG...]",
		Description: copyText,
		Flags: slices.Concat([]cli.Flag{
			&cli.StringFlag{Name: "from", Usage: "repository template `REPO` to copy from"},
			&cli.StringFlag{Name: "to", Usage: "repository template `REPO` to copy to (default: what the first oci_mirror of the CLI configuration names for it)"},
			sourcesFlag(),
			&cli.IntFlag{Name: "latest", Usage: "the newest `N` versions that match"},
			&cli.BoolFlag{Name: "all", Usage: "all versions that match, pre-releases aside"},
			&cli.BoolFlag{Name: "dry-run", Usage: "compare only, send nothing, and say how much there is to send"},
			&cli.BoolFlag{Name: "force", Usage: "make the target's tag that of the source, where it would be refused or stay"},
			&cli.BoolFlag{Name: "no-referrers", Usage: "leave out what refers to releases, for registries that hold no lists of it"},
			checkFlag("tags, index, blobs or deep"),
			missingRepositoryFlag(),
			digestFileFlag(),
			aliasFlag(),
			failFastFlag(),
		}, trustFlags(), transferFlags(), networkFlags(), outputFlags()),
		Action: printing(copyAction),
	}
}

func copyAction(c *cli.Context, out *report.Report) error {
	wanted, err := requirements(c, out)
	if err != nil {
		return err
	}
	from, err := repositoryTemplate(c, "from")
	if err != nil {
		return err
	}
	var options publish.Options
	if err := checkOption(c, &options); err != nil {
		return err
	}
	cmd, err := begin(c, out)
	if err != nil {
		return err
	}
	refs, err := cmd.targets(wanted)
	if err != nil {
		return err
	}
	if err := apart(from, refs); err != nil {
		return err
	}
	options.Verify, options.Aliases, options.NoReferrers = cmd.judging.Verify, cmd.aliases, c.Bool("no-referrers")
	return out.FinishRun(mirror.Copy(c.Context, cmd.reader, wanted, cmd.mirroring(refs, options)))
}

// apart refuses to copy a repository into itself.
func apart(from template.Template, refs map[provider.Address]template.Reference) error {
	for a, to := range refs {
		if ref, err := from.Repository(a); err == nil && ref == to {
			return usagef("%s would be copied from %s to itself: name two repositories with --from and --to", a, to)
		}
	}
	return nil
}
