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
	stated := config.Token(origin.TokenFromEnv(os.Environ()))
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
			return token, nil
		}
		helper, found := find()
		if !found {
			return "", nil
		}
		return helper.Token(ctx, string(host))
	}
}
