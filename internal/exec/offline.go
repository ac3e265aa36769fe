package exec

import (
	"context"
	"slices"
	"strings"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/configuration"
)

// Offline makes a command install only selected providers, and modules only from
// specified module registries. The user's hosts, credentials, and installation methods
// don't apply, except dev_overrides. For the command and the providers, environment
// variables specify a proxy that blocks the network. This is not a sandbox, because
// programs can ignore the variables.
type Offline struct {
	// Modules maps hosts of module registries to the URLs of their modules.v1 services.
	Modules map[svchost.Hostname]string
	// Proxy is the URL of a proxy that rejects all requests.
	Proxy string
	// Fetch returns the packages of modules. See configuration.Options. terraform
	// selects Terraform's default host.
	Fetch func(ctx context.Context, c configuration.Call, terraform bool) (configuration.Package, error)
}

// complete sets the options for an offline run.
func (s *Offline) complete(o Options) Options {
	reading := o.Reading
	o.Reading = func(terraform bool) configuration.Options {
		r := reading(terraform)
		r.Fetch = func(ctx context.Context, c configuration.Call) (configuration.Package, error) {
			return s.Fetch(ctx, c, terraform)
		}
		return r
	}
	o.OnlyLocked, o.MustLock = true, nil
	return o
}

// environment returns an environment whose proxy rejects all requests. git uses only
// local repositories.
func (s *Offline) environment(environ []string) []string {
	set := []string{"GIT_ALLOW_PROTOCOL=file", "CHECKPOINT_DISABLE=1"}
	for name, value := range map[string]string{"HTTP_PROXY": s.Proxy, "HTTPS_PROXY": s.Proxy, "ALL_PROXY": s.Proxy, "NO_PROXY": "127.0.0.1,localhost"} {
		set = append(set, name+"="+value, strings.ToLower(name)+"="+value)
	}
	slices.Sort(set)
	return append(slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.ContainsFunc(set, func(s string) bool { return strings.HasPrefix(s, strings.ToUpper(name)+"=") })
	}), set...)
}
