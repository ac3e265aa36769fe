package explain

import (
	"errors"
	"net/http"
	"os/exec"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/credentials"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// noHelper knows a credential helper that is named and not there.
func noHelper(err error) bool {
	return errors.Is(err, exec.ErrNotFound) && provider.KindOf(err) == provider.Denied
}

// LoginHint returns what user names and passwords the registry at a host takes.
func LoginHint(host string) string {
	switch productAt(host) {
	case ecr:
		return "the user name is AWS, and the password what aws ecr get-login-password gives for the account and the region in the host name"
	case ghcr:
		return "the password is a classic personal access token with read:packages, or write:packages to publish; in a job of GitHub Actions it is GITHUB_TOKEN"
	case gitlab:
		return "the password is a personal, project or deploy token with read_registry, or write_registry to publish"
	case dockerHub:
		return "the password is an access token of the account, for Read & Write to publish"
	}
	return "check the user name and the password; many registries want an access token in the password's place"
}

// isLoginVariable knows logins that a variable holds, and that are none.
func isLoginVariable(err error) bool {
	file, ok := errors.AsType[*credentials.FileError](err)
	return ok && strings.HasPrefix(file.Path, "$")
}

// loginIs knows a login that a registry refuses with a status.
func loginIs(status int) func(error) bool {
	return func(err error) bool {
		answer, ok := errors.AsType[*repository.ResponseError](err)
		return ok && answer.Status == status && refusesLogin(err)
	}
}

// refusesLogin knows a registry that refuses a login, or can't take it.
func refusesLogin(err error) bool {
	about, ok := errors.AsType[*repository.Error](err)
	return ok && about.Credentials != ""
}

// isDeniedBy knows a refusal by whom errors of a type are about.
func isDeniedBy[E error](err error) bool { return isA[E](err) && errors.Is(err, provider.ErrDenied) }

// proxyHint is the hint about a proxy that does not connect.
func proxyHint(err error) string {
	proxy, ok := errors.AsType[*provider.ProxyError](err)
	switch {
	case !ok:
		return ""
	case proxy.Status == http.StatusProxyAuthRequired && proxy.HasLogin:
		return "correct the login in the proxy's URL, in HTTPS_PROXY or HTTP_PROXY; what is special in a URL is written %40 for @, %3A for :, %2F for /"
	case proxy.Status == http.StatusProxyAuthRequired:
		return "write the login into the proxy's URL: HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT, and the same for HTTP_PROXY"
	case proxy.Status == 0:
		return "check HTTPS_PROXY and HTTP_PROXY in the environment; NO_PROXY names hosts that need no proxy"
	case proxy.Status >= http.StatusInternalServerError:
		return "the proxy does not reach the host: check the host name, and name it in NO_PROXY if it is reached without the proxy"
	}
	return "the proxy does not let this host through: allow it there, or name it in NO_PROXY if it is reached without the proxy"
}

// noRepositoryToWrite knows a registry that wants a repository to be there first.
func noRepositoryToWrite(err error) bool {
	about, ok := errors.AsType[*repository.Error](err)
	return ok && about.Writing && errors.Is(err, repository.ErrNoRepository)
}

// moreVersions knows a version that is not there, where the message could not name
// all that are.
func moreVersions(err error) bool {
	missing, ok := errors.AsType[*provider.VersionError](err)
	return ok && !missing.ListsAll() || !ok && errors.Is(err, provider.ErrVersionNotFound)
}

// registryOf names the registry that an error is about, REGISTRY where that is not known.
func registryOf(err error) string {
	if about, ok := errors.AsType[*repository.Error](err); ok && about.Registry != "" {
		return about.Registry
	}
	return "REGISTRY"
}
