package main

import (
	"os"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// artifactFlags are those of every command that writes artifacts.
func artifactFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "source-url", Usage: "`URL` for org.opencontainers.image.source, which GHCR links packages by (default: the CI's repository)"},
		&cli.StringSliceFlag{Name: "annotation", Usage: "annotate the index with `KEY=VALUE` (repeatable)"},
		&cli.StringFlag{Name: "sbom-program", Usage: "make each package's SBOM with `PROGRAM`, which writes it to stdout; {zip}, {dir} and {binary} stand for the package's files"},
		missingRepositoryFlag(),
		digestFileFlag(),
	}
}

// missingRepositoryFlag and digestFileFlag are those of every command that writes into
// repositories.
func missingRepositoryFlag() cli.Flag {
	return &cli.StringFlag{Name: "on-missing-repository", Usage: "run `PROGRAM` when the registry has no such repository, then try again; {registry} and {repository} stand for its name"}
}

func digestFileFlag() cli.Flag {
	return &cli.StringFlag{Name: "digest-file", Usage: "write the index digests to `FILE`, one a line"}
}

// checkFlag says how hard to look, of some levels.
func checkFlag(levels string) cli.Flag {
	return &cli.StringFlag{Name: "check-level", Value: repository.DepthBlobs.String(), Usage: "how hard a version that is there is looked at: `LEVEL` " + levels + ", see above"}
}

// checkOption reads --check-level, for which --digest-file counts too.
func checkOption(c *cli.Context, o *publish.Options) error {
	// A failed run must not leave the digests of an earlier one.
	if file := c.String("digest-file"); file != "" {
		info, err := os.Stat(file)
		if err == nil && info.IsDir() {
			return usagef("--digest-file: %s is a directory where a file has to be", file)
		}
		if err == nil && info.Mode().IsRegular() {
			if err := os.Remove(file); err != nil {
				return usagef("--digest-file: %w", err)
			}
		}
	}
	var err error
	if o.Check, err = repository.ParseDepth(c.String("check-level")); err != nil {
		return usagef("--check-level: %w", err)
	}
	return nil
}

// artifactOptions reads --check-level and all of them but the programs.
func artifactOptions(c *cli.Context, o *publish.Options) error {
	if err := checkOption(c, o); err != nil {
		return err
	}
	o.Index.SourceURL = c.String("source-url")
	if o.Index.SourceURL == "" {
		o.Index.SourceURL = sourceURLFromCI(os.Getenv)
	}
	for _, text := range c.StringSlice("annotation") {
		key, value, found := strings.Cut(text, "=")
		if !found || key == "" {
			return usagef("--annotation %s: must be KEY=VALUE", text)
		}
		if key == ocispec.AnnotationSource {
			return usagef("--annotation %s: use --source-url, which annotates the manifests too", key)
		}
		if err := o.Index.Annotate(key, value); err != nil {
			return usagef("--annotation: %w", err)
		}
	}
	return nil
}

// opened opens a target, with the programs that flags name for it.
func (cmd *command) opened(o publish.Options, ref template.Reference) (repository.Repository, publish.Options, error) {
	repo, err := repository.Open(ref, cmd.repos)
	if err != nil {
		return nil, o, err
	}
	if text := cmd.c.String("sbom-program"); text != "" {
		if o.SBOM, err = publish.SBOMProgram(text); err != nil {
			return nil, o, usagef("--sbom-program: %w", err)
		}
	}
	if text := cmd.c.String("on-missing-repository"); text != "" && !ref.IsLayout() {
		create, err := publish.RepositoryProgram(text, ref.Registry, ref.Name)
		if err != nil {
			return nil, o, usagef("--on-missing-repository: %w", err)
		}
		repo = publish.CreateMissing(repo, create)
	}
	return repo, o, nil
}

// sourceURLFromCI knows the repository that GitHub's and GitLab's CI run for.
func sourceURLFromCI(env func(string) string) string {
	if server, repository := env("GITHUB_SERVER_URL"), env("GITHUB_REPOSITORY"); server != "" && repository != "" {
		return server + "/" + repository
	}
	return env("CI_PROJECT_URL")
}
