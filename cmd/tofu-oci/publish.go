package main

import (
	"context"
	"errors"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/pkg/mirror"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/builddir"
)

// publishText is what the help of publish begins with.
const publishText = `PATH is a directory, such as goreleaser's dist, or a zip. Zips are named
terraform-provider-TYPE_VERSION_OS_ARCH.zip; several versions are several
releases. Beside them are taken, where they are:
   terraform-provider-TYPE_VERSION_SHA256SUMS    made when it is not there
   ..._SHA256SUMS.sig, .gpg or .asc              its signature
   ..._OS_ARCH.zip.sig, .gpg or .asc             a zip's signature
   ..._OS_ARCH.spdx.json, .cdx.json,
   ..._OS_ARCH.zip.sbom.json                     a package's SBOM
   ..._OS_ARCH.intoto.jsonl                      a package's provenance
   ..._SHA256SUMS.sigstore.json, ..._OS_ARCH.zip.sigstore.json
                                                 Sigstore bundles
   terraform-provider-TYPE_VERSION.spdx.json     an SBOM of all platforms
   terraform-provider-TYPE_VERSION.intoto.jsonl  provenance of all platforms
Each zip is checked before anything is sent: it has to open and unpack safely,
and to hold an executable that OpenTofu would find, for its platform.

With --launch the package for the platform of this machine is started too, as
OpenTofu does, in an empty directory and with a clean environment, and has to tell
its schema. That runs its code with your rights: it is no sandbox.

A signature of SHA256SUMS has to fit it: with --keyring the key that made it has
to be there, without one at least the hash that the signature shows has to be
that of the file. Else nothing is sent, with exit code 4. Of the keyring, the
public key that made the signature goes with the release, so that others can pin
it; it is added to a release that is there without it. With --sign-key the
signature is made where there is none, and the public key goes with it.

Jobs of a build matrix may publish one platform each: they are merged. Versions
are published many at once, and told of in their order, the newest first.

--check-level says how hard a version that is there is looked at before it is called
unchanged. Each level finds what those before it find, and costs more requests:
   index      its index has the platforms. Misses manifests that are lost or damaged
   manifests  they are there. Misses lost blobs: zips, sums, signatures
   blobs      they are there, in their size. Misses bytes that rotted in a registry
   deep       they are read, and have their digests. Misses nothing
What is found missing is sent again.

Examples:
   # what goreleaser built
   tofu-oci publish dist --provider example.com/acme/widget \
      --to ghcr.io/acme/providers/{namespace}/{type}

   # what goreleaser signed, with the key that gpg --armor --export wrote
   tofu-oci publish dist --provider acme/widget --to ghcr.io/acme/{type} \
      --keyring acme.pub

   # with an SBOM of each package
   tofu-oci publish dist --provider acme/widget --to ghcr.io/acme/{type} \
      --sbom-program 'syft scan file:{binary} -o spdx-json'

   # only if it starts
   tofu-oci publish dist --provider acme/widget --to ghcr.io/acme/{type} --launch

   # signed with a key that gpg --export-secret-keys wrote
   tofu-oci publish dist --provider acme/widget --to ghcr.io/acme/{type} \
      --sign-key release.asc --sign-passphrase-file /run/secrets/release

   # sign the index with cosign
   tofu-oci publish dist --provider acme/widget --to ghcr.io/acme/{type} --digest-file digest
   cosign sign ghcr.io/acme/widget@$(cat digest)`

func publishCommand() *cli.Command {
	return &cli.Command{
		Name:        "publish",
		Usage:       "put locally built zips, and the evidence beside them, into an OCI repository",
		ArgsUsage:   "PATH... --provider ADDRESS [--to REPO] [FLAG...]",
		Description: publishText,
		Flags: slices.Concat([]cli.Flag{
			&cli.StringFlag{Name: "provider", Usage: "`ADDRESS` of the provider, [HOST/]NAMESPACE/TYPE"},
			&cli.StringFlag{Name: "to", Usage: "repository template `REPO` to put the releases in (default: what the first oci_mirror of the CLI configuration names for it)"},
			&cli.StringSliceFlag{Name: "platform", Usage: "only `OS_ARCH`, such as linux_amd64 (repeatable; default: all that are there)"},
			&cli.BoolFlag{Name: "dry-run", Usage: "check and compare only, send nothing"},
			&cli.BoolFlag{Name: "skip-checks", Usage: "do not look into the zips"},
			launchFlag(),
			&cli.BoolFlag{Name: "force", Usage: "replace what conflicts, and publish a denied version"},
			checkFlag("index, manifests, blobs or deep"),
			&cli.StringFlag{Name: "sign-key", Usage: "sign SHA256SUMS with the secret OpenPGP key in `FILE`, where there is no signature"},
			passphraseFlag(),
			aliasFlag(),
			failFastFlag(),
		}, trustFlags(), artifactFlags(), transferFlags(), networkFlags(), outputFlags()),
		Action: printing(publishAction),
	}
}

func publishAction(c *cli.Context, out *report.Report) error {
	if !c.Args().Present() {
		return usagef("name a PATH, such as dist; see tofu-oci publish --help")
	}
	a, err := providerAddress(c)
	if err != nil {
		return err
	}
	options := publish.Options{Force: c.Bool("force"), DryRun: c.Bool("dry-run")}
	if err := artifactOptions(c, &options); err != nil {
		return err
	}
	if options.Check == repository.DepthTags {
		return usagef("--check-level tags: a tag does not tell whether it has the platforms of this build: use --check-level index")
	}
	cmd, err := begin(c, out)
	if err != nil {
		return err
	}
	if err := sign(c, &options, &cmd.judging); err != nil {
		return err
	}
	if options.Verify = cmd.judging.Verify; !cmd.judging.Keyring.IsZero() {
		options.Signing.Keys = cmd.judging.Keyring.KeysOf
	}
	src, err := builddir.New(a, c.Args().Slice()...)
	if err != nil {
		return usagef("%w", err)
	}
	refs, err := cmd.targets([]provider.Requirement{{Address: a}})
	if err != nil {
		return err
	}
	repo, options, err := cmd.opened(options, refs[a])
	if err != nil {
		return err
	}
	options.Aliases, options.Platforms = cmd.aliases, cmd.platforms
	p := publishing{src: src, address: a, repo: repo, options: options, workers: cmd.concurrency, launches: c.Bool("launch"), out: out}
	return p.all(c.Context, c.Bool("skip-checks"), c.Bool("fail-fast"))
}

func providerAddress(c *cli.Context) (provider.Address, error) {
	text := c.String("provider")
	if text == "" {
		return provider.Address{}, usagef("--provider is missing: write the provider's address, such as --provider example.com/acme/widget")
	}
	a, err := provider.ParseAddress(text)
	if err != nil {
		return a, usagef("--provider: %w", err)
	}
	return a, nil
}

type publishing struct {
	src     *builddir.Source
	address provider.Address
	repo    repository.Repository
	options publish.Options
	workers int
	// launches tells that what this machine can start has to start.
	launches bool
	out      *report.Report
}

// all checks every release before it sends the first.
func (p *publishing) all(ctx context.Context, unchecked, failFast bool) error {
	for _, path := range p.src.Ignored() {
		if name, ok := p.src.SuggestName(path); ok {
			p.out.Note("ignored %s: as a package it would be named %s", path, name)
			continue
		}
		p.out.Note("ignored %s", path)
	}
	wanted, err := p.releases(ctx)
	if err != nil {
		return err
	}
	if p.out.Unchecked = unchecked; unchecked {
		p.out.Warn("the packages were not checked, as --skip-checks says")
	} else if err := p.check(ctx, wanted); err != nil {
		return err
	}
	if p.launches {
		if err := p.launch(ctx, wanted); err != nil {
			return err
		}
	}
	err = mirror.Run(ctx, p.src, wanted, p.out.WatchMirror(mirror.Options{
		Publisher: &publish.Publisher{Concurrency: p.workers, Progress: p.out.Progress()}, FailFast: failFast,
		Target: func(provider.Address) (repository.Repository, publish.Options, error) { return p.repo, p.options, nil },
	}))
	return p.out.FinishRun(err)
}

// releases are all that were built, each named exactly: pre-releases are meant too.
func (p *publishing) releases(ctx context.Context) ([]provider.Requirement, error) {
	versions, err := p.src.Versions(ctx, p.address)
	if err != nil {
		return nil, err
	}
	var wanted []provider.Requirement
	for _, v := range versions {
		r, err := provider.ParseRequirement(p.address.String() + "@" + v.String())
		if err != nil {
			return nil, err
		}
		wanted = append(wanted, r)
	}
	return wanted, nil
}

func (p *publishing) check(ctx context.Context, wanted []provider.Requirement) error {
	var problems []error
	for _, r := range wanted {
		v, _ := r.Constraint.Exact()
		done := p.out.Step("checking %s", r)
		warnings, err := p.src.Check(ctx, p.address, v, p.options.Platforms...)
		done()
		for _, w := range warnings {
			p.out.Warn("%s", w)
		}
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}
