package main

import (
	"cmp"
	"os"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// artifactFlags returns the flags of commands that create artifacts.
func artifactFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "source-url", Category: commandline.GroupContent, Usage: "`URL` of the source code (default: CI repository)"},
		&cli.StringSliceFlag{Name: "annotation", Category: commandline.GroupContent, Usage: "annotate the index with `KEY=VALUE` (repeatable)"},
		sbomFlag(),
		&cli.StringFlag{Name: "sbom-program", Category: commandline.GroupContent, Usage: "generate an SBOM of each package with `PROGRAM`"},
		missingRepositoryFlag(),
		digestFileFlag(),
	}
}

func sbomFlag() cli.Flag {
	return &cli.StringFlag{Name: "sbom", Category: commandline.GroupContent, Usage: "`MODE`: auto adds missing SBOMs from Go build information"}
}

func attestationsFlag() cli.Flag {
	return &cli.StringFlag{Name: "attestations", Category: commandline.GroupContent, Usage: "`MODE`: fetch or require attestations"}
}

// evidenceOptions parses --attestations and --sbom.
func evidenceOptions(c *cli.Context, o *publish.Options) error {
	o.Attestations = publish.AttestationMode(c.String("attestations"))
	mode, _ := c.Value("sbom").(string) // in module push, the flag lists files
	if o.AutoSBOM = mode == "auto"; mode != "" && !o.AutoSBOM {
		return usagef("invalid --sbom %q: want auto", mode)
	}
	return nil
}

func gateFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "gate", Category: commandline.GroupTrust, Usage: "let `PROGRAM` allow or deny releases (repeatable)"}
}

func missingRepositoryFlag() cli.Flag {
	return &cli.StringFlag{Name: "on-missing-repository", Category: commandline.GroupOperation, Usage: "create missing repositories with `PROGRAM`"}
}

func digestFileFlag() cli.Flag {
	return &cli.StringFlag{Name: "digest-file", Category: commandline.GroupOutput, Usage: "write the index digests to `FILE`, one per line"}
}

// checkLevelFlag returns the flag for the check level. levels lists its values.
func checkLevelFlag(levels string) cli.Flag {
	return &cli.StringFlag{Name: "check-level", Category: commandline.GroupOperation, Value: repository.DepthBlobs.String(), Usage: "`LEVEL`: how to check existing versions: " + levels}
}

// checkOption parses --check-level. It also removes the file of --digest-file, so that a
// failed run does not leave the digests of an earlier run.
func checkOption(c *cli.Context, o *publish.Options) error {
	if file := c.String("digest-file"); file != "" {
		switch info, err := os.Stat(file); {
		case err == nil && info.IsDir():
			return usagef("--digest-file: %s is a directory", file)
		case err == nil && info.Mode().IsRegular():
			if err := os.Remove(file); err != nil {
				return flagError("digest-file", err)
			}
		}
	}
	return parseSet(c, "check-level", &o.Check, repository.ParseDepth)
}

// artifactOptions parses --check-level and the flags of [artifactFlags] except programs.
func artifactOptions(c *cli.Context, o *publish.Options) error {
	if err := cmp.Or(checkOption(c, o), evidenceOptions(c, o)); err != nil {
		return err
	}
	o.Index.SourceURL = cmp.Or(c.String("source-url"), sourceURLFromCI(os.Getenv))
	for _, text := range c.StringSlice("annotation") {
		key, value, found := strings.Cut(text, "=")
		if !found || key == "" {
			return usagef("invalid --annotation %q: want KEY=VALUE", text)
		}
		if key == ocispec.AnnotationSource {
			return usagef("--annotation %s: use --source-url, which also annotates the manifests", key)
		}
		if err := o.Index.Annotate(key, value); err != nil {
			return flagError("annotation", err)
		}
	}
	return nil
}

// openTarget opens a target repository and sets the programs that flags specify for it.
func (cmd *command) openTarget(o publish.Options, ref template.Reference) (repository.Repository, publish.Options, error) {
	repo, err := repository.Open(ref, cmd.repos)
	if err != nil {
		return nil, o, err
	}
	if err := parseSet(cmd.c, "sbom-program", &o.SBOM, publish.SBOMProgram); err != nil {
		return nil, o, err
	}
	if text := cmd.c.String("on-missing-repository"); text != "" && !ref.IsLayout() {
		create, err := publish.RepositoryProgram(text, ref.Registry, ref.Name)
		if err != nil {
			return nil, o, flagError("on-missing-repository", err)
		}
		repo = publish.CreateMissing(repo, create)
	}
	return repo, o, nil
}

// sourceURLFromCI returns the URL of the repository for which a GitHub Actions or
// GitLab CI/CD job is running.
func sourceURLFromCI(env func(string) string) string {
	if server, repository := env("GITHUB_SERVER_URL"), env("GITHUB_REPOSITORY"); server != "" && repository != "" {
		return server + "/" + repository
	}
	return env("CI_PROJECT_URL")
}
