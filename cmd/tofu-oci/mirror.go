package main

import (
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/pkg/mirror"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
	"github.com/tofu-oci/tofu-oci/pkg/template"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// mirrorText is what the help of mirror begins with.
const mirrorText = `Takes each release with its SHA256SUMS, signature and keys from its origin
registry, checks the zips against them, and puts it where an oci_mirror of
OpenTofu finds it. What the repository has already is neither downloaded nor
asked for again, and other bytes for a version that is there are refused. So is
a repository that holds another provider, unless --alias declares that its
releases stand for those of PROVIDER.

The signature is judged before anything is sent: by the keys that the origin
offers, by --keyring, or by those that the trust file pins. One that is bad, by
a revoked key, or by another key than those, is refused with exit code 4;
docs/trust.md says what else is, and what is only warned of.

--stage puts releases under pending-VERSION, where OpenTofu does not see them, until
tofu-oci promote points the version's tag to them, or tofu-oci deny records why not.
Versions that are already released are unchanged. Without --stage, releases need no
approval.

A version that tofu-oci deny took out of use is skipped and reported as denied. If a
PROVIDER names it exactly, that is an error, exit code 4, unless --force overrules it.

--check-level says how hard a version that is there is looked at before it is called
unchanged. Each level finds what those before it find, and costs more requests:
   tags       the list of tags has it. Misses platforms that came to the version
              later, those that an earlier --platform left out, and an index that
              was lost or is another provider's
   index      its index has the platforms. Misses manifests that are lost or damaged
   manifests  they are there. Misses lost blobs: zips, sums, signatures
   blobs      they are there, in their size. Misses bytes that rotted in a registry
   deep       they are read, and have their digests. Misses nothing
What is found missing is sent again. --recheck and --force need the index, so that
tags is index with them.

--min-age gives others time to find what is wrong with a release: the newest
versions that are old enough are taken, by their origin's own date, and each that
is younger is held back until then, which is no failure. One without a date is
too young. Versions that are named exactly, locked, or there already pass.

Examples:
   # the newest release, all platforms
   tofu-oci mirror hashicorp/null --to ghcr.io/acme/providers/{namespace}/{type}

   # the three newest releases of a range, for two platforms
   tofu-oci mirror 'hashicorp/aws@~> 5.0' --latest 3 --platform linux_amd64 \
      --platform darwin_arm64 --to registry.example.com/tofu/{namespace}/{type}

   # into a directory, to carry over to an air-gapped site
   tofu-oci mirror hashicorp/null hashicorp/time --to oci-layout:mirror/{namespace}/{type}

   # what all configurations below a directory have locked
   tofu-oci mirror --lock-file 'live/**/.terraform.lock.hcl' \
      --to ghcr.io/acme/providers/{namespace}/{type}

   # every night: all versions, what is there looked at by the list of tags,
   # and what happens as JSON lines for those who watch
   tofu-oci mirror hashicorp/aws --all --to ghcr.io/acme/providers/{namespace}/{type} \
      --check-level tags --events events.jsonl

   # nothing that was published in the last three days
   tofu-oci mirror hashicorp/aws --min-age 3d --to ghcr.io/acme/providers/{namespace}/{type}

   # the same, for somebody to approve in the morning
   tofu-oci mirror hashicorp/aws --latest 3 --stage \
      --to ghcr.io/acme/providers/{namespace}/{type}

   # see what would be done
   tofu-oci mirror hashicorp/aws --to registry.example.com/{namespace}/{type} --dry-run`

func mirrorCommand() *cli.Command {
	return &cli.Command{
		Name:        "mirror",
		Usage:       "copy released providers from their origin registry into OCI repositories",
		ArgsUsage:   "[PROVIDER...] [--to REPO] [FLAG...]",
		Description: mirrorText,
		Flags: slices.Concat([]cli.Flag{
			&cli.StringFlag{Name: "to", Usage: "repository template `REPO` to put the releases in (default: what the first oci_mirror of the CLI configuration names for it)"},
			&cli.StringSliceFlag{Name: "platform", Usage: "only `OS_ARCH`, such as linux_amd64 (repeatable; default: all that the release has)"},
			&cli.IntFlag{Name: "latest", Usage: "the newest `N` versions that match"},
			&cli.BoolFlag{Name: "all", Usage: "all versions that match, pre-releases aside"},
			sourcesFlag(),
			lockFileFlag("what lock `FILE` selects, and nothing that its hashes don't match; also a directory of them, or a pattern such as 'live/**/.terraform.lock.hcl' (repeatable)"),
			minAgeFlag(),
			&cli.BoolFlag{Name: "dry-run", Usage: "compare only, send nothing, and say how much there is to send"},
			&cli.BoolFlag{Name: "no-h1", Usage: "leave out h1 hashes that the origin does not state, instead of computing them"},
			&cli.BoolFlag{Name: "recheck", Usage: "ask the origin for checksums also where everything is there, to find versions that were republished with other bytes, and judge their signatures again"},
			&cli.BoolFlag{Name: "stage", Usage: "put releases where they wait for approval, and OpenTofu does not see them"},
			&cli.BoolFlag{Name: "force", Usage: "replace what conflicts, and mirror a denied version that is named exactly"},
			checkFlag("tags, index, manifests, blobs or deep"),
			cacheFlag("take zips that pull kept in `DIR` from there; nothing is added"),
			aliasFlag(),
			failFastFlag(),
		}, trustFlags(), artifactFlags(), transferFlags(), networkFlags(), outputFlags()),
		Action: printing(mirrorAction),
	}
}

func mirrorAction(c *cli.Context, out *report.Report) error {
	wanted, err := wantedOf(c, out)
	if err != nil {
		return err
	}
	var options publish.Options
	if err := artifactOptions(c, &options); err != nil {
		return err
	}
	cmd, err := begin(c, out)
	if err != nil {
		return err
	}
	refs, err := cmd.targets(wanted.requirements)
	if err != nil {
		return err
	}
	cmd.judging.History = &trust.SignerHistory{Source: oci.New(cmd.written(refs), cmd.aliases...)}
	options.Verify, options.Aliases, options.Platforms = cmd.judging.VerifyOffered, cmd.aliases, cmd.platforms
	options.Stage, options.NoH1, options.Recheck = c.Bool("stage"), c.Bool("no-h1"), c.Bool("recheck")
	// A mirror moves the zips of all platforms, each once: keeping them would push
	// out of the cache what pulls need.
	src := wanted.limit(source.NewCached(cmd.origin(), cmd.cache, source.CacheOptions{ReadOnly: true}), out)
	return out.FinishRun(mirror.Run(c.Context, src, wanted.requirements, cmd.mirroring(refs, options)))
}

// mirroring are the options of a run that writes releases, which is reported as it goes.
func (cmd *command) mirroring(refs map[provider.Address]template.Reference, o publish.Options) mirror.Options {
	o.Force, o.DryRun = cmd.c.Bool("force"), cmd.c.Bool("dry-run")
	return cmd.out.WatchMirror(mirror.Options{
		Latest: cmd.newest, MinAge: cmd.minAge, FailFast: cmd.c.Bool("fail-fast"),
		Publisher: &publish.Publisher{Concurrency: cmd.concurrency, Progress: cmd.out.Progress()},
		Target: func(a provider.Address) (repository.Repository, publish.Options, error) {
			return cmd.opened(o, refs[a])
		},
	})
}

func addresses(wanted []provider.Requirement) []provider.Address {
	var as []provider.Address
	for _, r := range wanted {
		as = append(as, r.Address)
	}
	return as
}
