package installation

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/internal/credentials"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
)

// Tokens returns the tokens for origin registries in OpenTofu's order of precedence:
// TF_TOKEN_… variables, credentials blocks, and the credentials_helper.
//
// If the helper does not exist, notFound is called with a note.
func Tokens(config cliconfig.Config, env cliconfig.Environment, notFound func(note string)) func(context.Context, svchost.Hostname) (origin.Token, error) {
	fromEnv := origin.TokenFromEnv(os.Environ())
	find := sync.OnceValues(func() (credentials.TokenHelper, bool) {
		block := config.CredentialsHelper
		if block == nil {
			return credentials.TokenHelper{}, false
		}
		dirs := env.HelperDirs()
		helper, found := credentials.FindTokenHelper(block.Name, block.Args, dirs)
		if !found {
			notFound(fmt.Sprintf("%s: OpenTofu ignores the credentials_helper %q, because terraform-credentials-%s is not in %s",
				block.Position, block.Name, block.Name, strings.Join(dirs, ", ")))
		}
		return helper, found
	})
	return func(ctx context.Context, host svchost.Hostname) (token origin.Token, err error) {
		token.Value = cmp.Or(fromEnv(host), config.Tokens[host].Reveal())
		if _, isStated := config.Tokens[host]; isStated || token.Value != "" {
			token.From = tokenOrigin(host, fromEnv(host), token.Value)
			return token, nil
		}
		helper, found := find()
		if !found {
			token.From = "no token"
			return token, nil
		}
		token.From = "the credentials_helper in the CLI configuration"
		token.Value, err = helper.Token(ctx, string(host))
		return token, err
	}
}

// tokenOrigin describes the source of a token that does not come from a helper.
func tokenOrigin(host svchost.Hostname, variable, token string) string {
	switch {
	case variable != "":
		name := "TF_TOKEN_" + strings.NewReplacer("-", "__", ".", "_").Replace(string(host))
		if os.Getenv(name) != variable {
			return "a TF_TOKEN_ environment variable" // the name is spelled differently
		}
		return "the environment variable " + name
	case token == "":
		return "a credentials block without a token in the CLI configuration"
	}
	return "a credentials block in the CLI configuration"
}
