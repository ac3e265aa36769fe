package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/credentials"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// cliConfiguration reads OpenTofu's CLI configuration, from where OpenTofu does or
// from --config.
func cliConfiguration(c *cli.Context, out *report.Report) (cliconfig.Config, error) {
	files, config, err := readConfiguration(c.String("config"))
	out.Debug.Configuration(files)
	if err != nil {
		return config, ofConfig(c, err)
	}
	for _, n := range config.Notes {
		out.Note("%s", n)
	}
	return config, nil
}

// ofConfig says of an error in a configuration that --config names it, where it does.
func ofConfig(c *cli.Context, err error) error {
	if !c.IsSet("config") {
		return usagef("%w", err)
	}
	return usagef("--config: %w", err)
}

// readConfiguration reads what --config names, else where OpenTofu does. The
// files are given also beside an error in what they say.
func readConfiguration(explicit string) (cliconfig.Files, cliconfig.Config, error) {
	env := cliconfig.SystemEnvironment()
	files, err := cliconfig.Locate(env, explicit)
	if err != nil {
		return files, cliconfig.Config{}, usagef("%w", err)
	}
	config, err := cliconfig.Read(env, files)
	if err != nil {
		return files, config, usagef("%w", err)
	}
	return files, config, nil
}

// loginsOf finds logins as the CLI configuration says, and where Docker and
// Podman keep them.
func loginsOf(config cliconfig.Config, debug *report.Debug) func(ctx context.Context, repository string) (repository.Credential, error) {
	finder := credentials.New(config, credentials.SystemEnvironment())
	return func(ctx context.Context, name string) (repository.Credential, error) {
		l, origin, err := finder.Resolve(debug.Programs(ctx), name)
		debug.Once("login", "repository", name, "from", origin.String(), "error", err)
		return repository.Credential{
			From:     origin.String(),
			Username: l.Username, Password: l.Password.Reveal(),
			RefreshToken: l.IdentityToken.Reveal(), AccessToken: l.RegistryToken.Reveal(),
		}, err
	}
}
