package installation

import (
	"github.com/tofu-oci/tofu-oci/internal/logins"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
)

// LoginRules returns where a CLI configuration has logins looked for.
func LoginRules(config cliconfig.Config) logins.Config {
	rules := logins.Config{Default: logins.Default{
		NoAmbient: config.DefaultLogins.NoAmbient, DockerStyleFiles: config.DefaultLogins.DockerFiles, DefaultHelper: config.DefaultLogins.Helper,
	}}
	for _, l := range config.Logins {
		rules.Explicit = append(rules.Explicit, logins.Rule{
			Registry: l.Registry, RepositoryPrefix: l.Path, Username: l.Username, Password: logins.NewSecret(string(l.Password)),
			AccessToken: logins.NewSecret(string(l.AccessToken)), RefreshToken: logins.NewSecret(string(l.RefreshToken)), Helper: l.Helper,
		})
	}
	return rules
}
