package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/credentials"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// cliConfiguration reads OpenTofu's CLI configuration from the --config file or,
// without the flag, from the files that OpenTofu reads.
func cliConfiguration(cmd *command) (cliconfig.Config, error) {
	files, config, err := readConfiguration(cmd.c.String("config"))
	cmd.out.Debug.Configuration(files)
	if err != nil {
		return config, configError(cmd.c, err)
	}
	for _, n := range config.Notes {
		cmd.out.Note("%s", n)
	}
	return config, nil
}

// configError adds the prefix --config to a configuration error if the flag is set.
func configError(c *cli.Context, err error) error {
	if !c.IsSet("config") {
		return misuse(err)
	}
	return flagError("config", err)
}

// readConfiguration reads a configuration file or, if path is empty, the files that
// OpenTofu reads. It returns the files even if their content is invalid.
func readConfiguration(path string) (cliconfig.Files, cliconfig.Config, error) {
	env := cliconfig.SystemEnvironment()
	files, err := cliconfig.Locate(env, path)
	if err != nil {
		return files, cliconfig.Config{}, misuse(err)
	}
	config, err := cliconfig.Read(env, files)
	return files, config, misuse(err)
}

// repositoryCredentials returns a function that finds the credentials for a repository
// in the CLI configuration and in the files of Docker and Podman.
func repositoryCredentials(config cliconfig.Config, debug *report.Debug) func(ctx context.Context, repository string) (repository.Credential, error) {
	resolver := credentials.New(config, credentials.SystemEnvironment())
	return func(ctx context.Context, name string) (repository.Credential, error) {
		l, origin, err := resolver.Resolve(debug.Programs(ctx), name)
		debug.Once("login", "repository", name, "from", origin.String(), "error", err)
		return repository.Credential{
			From:     origin.String(),
			Username: l.Username, Password: l.Password.Reveal(),
			RefreshToken: l.IdentityToken.Reveal(), AccessToken: l.RegistryToken.Reveal(),
		}, err
	}
}
