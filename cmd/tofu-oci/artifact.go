package main

import (
	"cmp"
	"os"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// artifactFlags returns the flags of commands that create artifacts.
func artifactFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "annotation", Category: commandline.GroupOperation, Usage: "annotate the index with `KEY=VALUE`"},
		sbomFlag(),
		missingRepositoryFlag(),
		digestFileFlag(),
	}
}

func sbomFlag() cli.Flag {
	return &cli.StringFlag{Name: "sbom", Category: commandline.GroupOperation, Usage: "generate missing SBOMs; `PROGRAM` can be auto"}
}

func h1Flag(usage string) cli.Flag {
	return &cli.StringFlag{Name: "h1", Category: commandline.GroupOperation, Usage: usage}
}

func attestationsFlag() cli.Flag {
	return &cli.StringFlag{Name: "attestations", Category: commandline.GroupOperation, Usage: "add attestations; `MODE` is fetch or require"}
}

func gateFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "gate", Category: commandline.GroupTrust, Usage: "let `PROGRAM` allow, deny, or hold releases"}
}

func missingRepositoryFlag() cli.Flag {
	return &cli.StringFlag{Name: "on-missing-repository", Category: commandline.GroupOperation, Usage: "create missing repositories with `PROGRAM`"}
}

func digestFileFlag() cli.Flag {
	return &cli.StringFlag{Name: "digest-file", Category: commandline.GroupOutput, Usage: "write the digests of the releases to `FILE`"}
}

// checkLevelFlag returns the flag for the check level. usage lists the values that the
// command supports.
func checkLevelFlag(usage string) cli.Flag {
	return &cli.StringFlag{Name: "check-level", Category: commandline.GroupOperation, Value: repository.DepthBlobs.String(), Usage: usage}
}

// publishOptions parses the flags of commands that write releases. It also removes the
// --digest-file file, so that the digests of an earlier run don't remain if this run
// fails.
func publishOptions(c *cli.Context) (o publish.Options, err error) {
	o = publish.Options{
		Attestations: publish.AttestationMode(c.String("attestations")),
		NoH1:         c.String("h1") == "skip", NoReferrers: c.Bool("no-referrers"), AgainstOrigin: c.Bool("against-origin"),
		Stage: c.Bool("stage"), Force: c.Bool("force"), DryRun: c.Bool("dry-run"),
	}
	if file := c.String("digest-file"); file != "" {
		switch info, err := os.Stat(file); {
		case err == nil && info.IsDir():
			return o, usagef("--digest-file: %s is a directory", file)
		case err == nil && info.Mode().IsRegular():
			if err := os.Remove(file); err != nil {
				return o, flagError("digest-file", err)
			}
		}
	}
	err = cmp.Or(
		parseSet(c, "check-level", &o.Check, repository.ParseDepth),
		parseSBOM(c, &o),
		parseAnnotations(c, &o.Index),
	)
	return o, err
}

// parseSBOM parses --sbom. In module push, which has its own flag --sbom, it does nothing.
func parseSBOM(c *cli.Context, o *publish.Options) error {
	if _, isProgram := commandline.FlagNamed(c.Command, "sbom").(*cli.StringFlag); !isProgram {
		return nil
	}
	if o.AutoSBOM = c.String("sbom") == "auto"; o.AutoSBOM {
		return nil
	}
	return parseSet(c, "sbom", &o.SBOM, publish.SBOMProgram)
}

// parseAnnotations parses --annotation. By default, the source URL is the repository of
// the CI job.
func parseAnnotations(c *cli.Context, index *artifact.Options) error {
	if commandline.FlagNamed(c.Command, "annotation") == nil {
		return nil // the command has no flags for annotations
	}
	index.SourceURL = sourceURLFromCI(os.Getenv)
	for _, text := range c.StringSlice("annotation") {
		key, value, found := strings.Cut(text, "=")
		if !found || key == "" {
			return usagef("invalid --annotation %q: want KEY=VALUE", text)
		}
		if key == ocispec.AnnotationSource {
			index.SourceURL = value // also annotates the manifests
			continue
		}
		if err := index.Annotate(key, value); err != nil {
			return flagError("annotation", err)
		}
	}
	return nil
}

// openTarget opens a repository for writing.
func (cmd *command) openTarget(ref template.Reference) (repository.Repository, error) {
	repo, err := repository.Open(ref, cmd.repos)
	program := cmd.c.String("on-missing-repository")
	if err != nil || program == "" || ref.IsLayout() {
		return repo, err
	}
	create, err := publish.RepositoryProgram(program, ref.Registry, ref.Name)
	return publish.CreateMissing(repo, create), flagError("on-missing-repository", err)
}

// openDecided opens a repository for decisions about the versions of a provider or module.
func (cmd *command) openDecided(refs map[provider.Address]template.Reference, a provider.Address) (repository.Repository, error) {
	repo, err := cmd.openTarget(refs[a])
	if err == nil && a.IsModule() {
		repo = repository.ForModule(repo)
	}
	return repo, err
}

// sourceURLFromCI returns the repository URL of the current GitHub Actions or GitLab
// CI/CD job.
func sourceURLFromCI(env func(string) string) string {
	if server, repository := env("GITHUB_SERVER_URL"), env("GITHUB_REPOSITORY"); server != "" && repository != "" {
		return server + "/" + repository
	}
	return env("CI_PROJECT_URL")
}
