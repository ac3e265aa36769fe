package main

import (
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/pkg/pull"
	"github.com/tofu-oci/tofu-oci/pkg/source"
)

// pullText is what the help of pull begins with.
const pullText = `Finds the version's tag and the platform's manifest, holds the zip's name and
digest against the SHA256SUMS that the artifact carries, and writes the zip or
its contents. Nothing that does not match gets a final name. What is there and
right is left alone, what is there and differs is an error.

The signature is judged before anything is written, by --keyring or by the keys
that the trust file pins; the keys in an artifact prove only that it agrees with
itself. What is refused is exit code 4, see docs/trust.md.

An artifact that is annotated with another provider is refused, though OpenTofu
installs it. Host and namespace may differ where --alias says so, the type never:
   --alias 'hashicorp/*=registry.terraform.io/hashicorp/*'

Layouts of --dir, FILE being terraform-provider-TYPE_VERSION_OS_ARCH:
   zip       DIR/FILE.zip
   packed    a filesystem_mirror of zips: DIR/HOST/NAMESPACE/TYPE/FILE.zip
   unpacked  a filesystem_mirror or plugin cache: DIR/HOST/NAMESPACE/TYPE/VERSION/OS_ARCH/
   network   a network_mirror as files: DIR/HOST/NAMESPACE/TYPE/FILE.zip, and beside it
             index.json and VERSION.json, with h1 (computed) and zh of each zip

A network mirror of another run or of "tofu providers mirror" is added to: what it
lists stays. Any https server may serve it to OpenTofu and Terraform, if it gives
.json as application/json. A host with a port can't be in it.

Examples:
   # this machine's zip
   tofu-oci pull hashicorp/null@3.2.4 --from ghcr.io/acme/providers/{namespace}/{type} --dir .

   # a filesystem_mirror for two platforms, out of a layout on a stick
   tofu-oci pull hashicorp/null hashicorp/time --layout packed --platform linux_amd64 \
      --platform windows_amd64 --from oci-layout:/media/stick/{namespace}/{type} --dir mirror

   # what a configuration has locked, as a filesystem_mirror
   tofu-oci pull --lock-file .terraform.lock.hcl --layout packed \
      --from ghcr.io/acme/providers/{namespace}/{type} --dir mirror

   # a directory for a web server, and what clients write into their CLI configuration:
   #    provider_installation {
   #      network_mirror {
   #        url = "https://mirror.example.com/providers/"
   #      }
   #    }
   tofu-oci pull hashicorp/null --layout network --platform linux_amd64 --platform darwin_arm64 \
      --from ghcr.io/acme/providers/{namespace}/{type} --dir /srv/www/providers

   # what an earlier run kept is neither fetched nor unpacked again
   tofu-oci pull hashicorp/aws --layout unpacked --cache ~/.cache/tofu-oci \
      --from ghcr.io/acme/providers/{namespace}/{type} --dir plugins`

func pullCommand() *cli.Command {
	return &cli.Command{
		Name:        "pull",
		Usage:       "fetch providers from OCI repositories into a directory, verified",
		ArgsUsage:   "[PROVIDER...] --dir DIRECTORY [--from REPO] [FLAG...]",
		Description: pullText,
		Flags: slices.Concat([]cli.Flag{
			&cli.StringFlag{Name: "from", Usage: "repository template `REPO` to fetch from (default: where the CLI configuration says that OpenTofu installs from)"},
			&cli.StringSliceFlag{Name: "platform", Usage: "`OS_ARCH`, such as linux_amd64 (repeatable; default: this machine's)"},
			&cli.StringFlag{Name: "dir", Usage: "`DIRECTORY` to write to; made when it is not there"},
			sourcesFlag(),
			lockFileFlag("exactly what lock `FILE` selects, and nothing that its hashes don't match; also a directory of them, or a pattern such as 'live/**/.terraform.lock.hcl' (repeatable)"),
			&cli.StringFlag{Name: "layout", Value: string(pull.LayoutZip), Usage: "`LAYOUT` of the directory: zip, packed, unpacked or network"},
			&cli.BoolFlag{Name: "with-evidence", Usage: "write sums, signatures, keys, SBOMs and provenance beside the zips"},
			cacheFlag("take zips, and what they unpack to, from `DIR`, and keep them there"),
			&cli.BoolFlag{Name: "verify-cache", Usage: "hash what is taken from the cache, though it looks untouched"},
			aliasFlag(),
			failFastFlag(),
		}, trustFlags(), transferFlags(), networkFlags(), outputFlags()),
		Action: printing(pullAction),
	}
}

func pullAction(c *cli.Context, out *report.Report) error {
	wanted, err := wantedOf(c, out)
	if err != nil {
		return err
	}
	if c.String("dir") == "" {
		return usagef("--dir is missing: name the directory to write to, such as --dir .")
	}
	layout, err := pull.ParseLayout(c.String("layout"))
	if err != nil {
		return usagef("--layout: %w", err)
	}
	cmd, err := begin(c, out)
	if err != nil {
		return err
	}
	sink, err := pull.NewSink(layout, c.String("dir"), cmd.cache)
	if err != nil {
		return usagef("--dir: %w", err)
	}
	src, err := cmd.from()
	if err != nil {
		return err
	}
	options := pull.ManyOptions{
		Options: pull.Options{
			Evidence: c.Bool("with-evidence"), Concurrency: cmd.concurrency, Platforms: cmd.platforms, Verify: cmd.judging.Verify, Progress: out.Progress(),
		},
		FailFast: c.Bool("fail-fast"),
		Done:     func(p pull.Pulled) { warnDenied(c.Context, out, src, p.Requirement, 1, p.Version) },
	}
	cached := source.NewCached(src, cmd.cache, source.CacheOptions{})
	err = pull.Many(c.Context, wanted.limit(cached, out), sink, wanted.requirements, out.WatchPull(len(wanted.requirements), cmd.lookedAt, cmd.withRemedy, options))
	return out.FinishRun(err)
}
