package main

import (
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/pkg/module"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source/builddir"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

func modulePushCommand() *cli.Command {
	return newCommand("push", modulePush, []cli.Flag{
		&cli.StringFlag{Name: "to", Category: commandline.GroupSelection, Usage: "push to `REPOSITORY`, such as ghcr.io/acme/vpc or oci-layout:DIR"},
		&cli.StringFlag{Name: "version", Category: commandline.GroupSelection, Usage: "push the module as `VERSION` (default: the commit's Git tag)"},
		&cli.BoolFlag{Name: "tag-latest", Category: commandline.GroupOperation, Usage: "also write the tag \"latest\", which OpenTofu uses by default"},
		&cli.BoolFlag{Name: "stage", Category: commandline.GroupOperation, Usage: "hide the version from OpenTofu until promoted"},
		dryRunFlag("check and compare the package, but send nothing"),
		&cli.BoolFlag{Name: "force", Category: commandline.GroupOperation, Usage: "overwrite conflicting content; override denials"},
		signKeyFlag("sign the module with the key in `FILE`"),
		&cli.StringSliceFlag{Name: "annotation", Category: commandline.GroupOperation, Usage: "annotate the manifest with `KEY=VALUE`"},
		&cli.StringSliceFlag{Name: "sbom", Category: commandline.GroupOperation, Usage: "add the SBOM in `FILE`, SPDX or CycloneDX"},
		&cli.StringSliceFlag{Name: "provenance", Category: commandline.GroupOperation, Usage: "add the in-toto provenance in `FILE`"},
		gateFlag(),
		missingRepositoryFlag(),
		digestFileFlag(),
	}, networkFlags(), outputFlags())
}

func modulePush(cmd *command) error {
	c, out := cmd.c, cmd.out
	if c.NArg() != 1 {
		return usagef("got %d arguments: want one DIR, as in tofu-oci module push . --to ghcr.io/acme/modules/vpc", c.NArg())
	}
	target, err := modulePushTarget(c)
	if err != nil {
		return err
	}
	options := module.PushOptions{Latest: c.Bool("tag-latest"), Stage: c.Bool("stage"), Force: c.Bool("force"), DryRun: c.Bool("dry-run"), Progress: out.Progress()}
	if options.Stage && options.Latest {
		out.Note("the latest tag is not written because of --stage; after promoting the version, push it again with --tag-latest")
	}
	if err := cmd.prepare(); err != nil {
		return err
	}
	options.Gates, options.Signer = cmd.gates.Option(), cmd.signer
	p, err := modulePackage(cmd)
	if err != nil {
		return err
	}
	ref := target.Repository
	p.Name = target.Name()
	repo, err := cmd.openTarget(ref)
	if err != nil {
		return err
	}
	result, err := module.Push(c.Context, repo, p, options)
	if err != nil {
		return err
	}
	return out.ModulePushed(p.Name, ref, result)
}

// modulePushTarget returns the --to repository.
func modulePushTarget(c *cli.Context) (r module.Reference, err error) {
	text := c.String("to")
	switch {
	case text == "":
		return r, usagef("missing --to: specify the repository of the module, such as --to ghcr.io/acme/modules/vpc")
	case strings.ContainsAny(text, "{}"):
		return r, usagef("--to %s: want the repository of one module, not a template", text)
	}
	r.Repository, err = template.ParseReference(strings.TrimPrefix(text, "oci://"))
	return r, flagError("to", err)
}

// modulePackage reads the module directory and the documents that flags specify.
func modulePackage(cmd *command) (p module.Package, err error) {
	c, out := cmd.c, cmd.out
	done := out.Step("reading %s", c.Args().First())
	dir, err := module.ReadDirectory(c.Context, c.Args().First())
	done()
	if err != nil {
		return p, err
	}
	if n := len(dir.Untracked); n > 0 {
		out.Note("the package omits %s that Git doesn't track, such as %s; to include a file, add it with git add", report.Counted(n, "file"), dir.Untracked[0])
	}
	if text := c.String("version"); text != "" {
		p.Version, err = provider.ParseVersion(strings.TrimPrefix(text, "v"))
		err = flagError("version", err)
	} else if p.Version, err = dir.Version(); err != nil {
		err = usagef("missing --version: %w", err)
	}
	if err != nil {
		return p, err
	}
	index := cmd.publishing.Index
	p.Files, p.Annotations = dir.Files, index.Annotations
	if p.Annotations == nil {
		p.Annotations = map[string]string{}
	}
	for key, value := range map[string]string{
		ocispec.AnnotationSource: index.SourceURL, ocispec.AnnotationRevision: dir.Revision,
	} {
		if value != "" {
			p.Annotations[key] = value
		}
	}
	for _, kind := range []provider.DocumentKind{provider.KindSBOM, provider.KindProvenance} {
		for _, file := range c.StringSlice(string(kind)) {
			document, err := builddir.ReadDocument(file, kind)
			if err != nil {
				return p, flagError(string(kind), err)
			}
			p.Documents = append(p.Documents, document)
		}
	}
	return p, nil
}
