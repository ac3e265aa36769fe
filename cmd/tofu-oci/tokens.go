package main

import (
	"context"
	"os"
	"strings"
	"sync"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/internal/logins"
	"github.com/tofu-oci/tofu-oci/pkg/cliconfig"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
)

// originTokens gives the tokens for origin registries in OpenTofu's order: those
// of TF_TOKEN_…, then of credentials blocks, and for hosts without either the
// credentials_helper's.
func originTokens(config cliconfig.Config, out *output) func(context.Context, svchost.Hostname) (string, error) {
	fromEnv := origin.TokenFromEnv(os.Environ())
	stated := config.Token(fromEnv)
	find := sync.OnceValues(func() (logins.TokenHelper, bool) {
		block := config.CredentialsHelper
		if block == nil {
			return logins.TokenHelper{}, false
		}
		dirs := cliconfig.SystemEnvironment().HelperDirs()
		helper, found := logins.FindTokenHelper(block.Name, block.Args, dirs)
		if !found {
			out.note("%s: OpenTofu goes on without the credentials_helper %q, since there is no terraform-credentials-%s in %s",
				block.Position, block.Name, block.Name, strings.Join(dirs, ", "))
		}
		return helper, found
	})
	return func(ctx context.Context, host svchost.Hostname) (string, error) {
		token := stated(host)
		if _, isStated := config.Tokens[host]; isStated || token != "" {
			out.debug.token(string(host), statedBy(host, fromEnv(host), token), nil)
			return token, nil
		}
		helper, found := find()
		if !found {
			out.debug.token(string(host), "no token", nil)
			return "", nil
		}
		token, err := helper.Token(out.debug.programs(ctx), string(host))
		out.debug.token(string(host), byHelper, err)
		return token, err
	}
}

// byHelper says that the credentials_helper gave a token.
const byHelper = "the credentials_helper of the CLI configuration"

// originTokenFrom says where the token for a host is from that has one.
func originTokenFrom(config cliconfig.Config) func(svchost.Hostname) string {
	fromEnv := origin.TokenFromEnv(os.Environ())
	stated := config.Token(fromEnv)
	return func(host svchost.Hostname) string {
		if token := stated(host); token != "" {
			return statedBy(host, fromEnv(host), token)
		}
		return byHelper
	}
}

// statedBy says where a token is from that no helper gave.
func statedBy(host svchost.Hostname, variable, token string) string {
	switch {
	case variable != "":
		name := "TF_TOKEN_" + strings.NewReplacer("-", "__", ".", "_").Replace(string(host))
		if os.Getenv(name) != variable {
			name = "TF_TOKEN variable" // it is written in another way
		}
		return name + " of the environment"
	case token == "":
		return "a credentials block of the CLI configuration, which has none"
	}
	return "a credentials block of the CLI configuration"
}
