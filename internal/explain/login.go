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

// noHelper reports whether a configured credential helper is not installed.
func noHelper(err error) bool {
	return errors.Is(err, exec.ErrNotFound) && provider.KindOf(err) == provider.Denied
}

// LoginHint explains which user name and password a registry expects.
func LoginHint(host string) string {
	switch productAt(host) {
	case ecr:
		return "use the user name AWS and the password from aws ecr get-login-password for the account and region in the host name"
	case ghcr:
		return "use a classic personal access token with the scope read:packages, or write:packages to publish, as the password; in GitHub Actions, use GITHUB_TOKEN"
	case gitlab:
		return "use a personal, project, or deploy token with the scope read_registry, or write_registry to publish, as the password"
	case dockerHub:
		return "use an access token as the password; to publish, it needs Read & Write access"
	}
	return "check the user name and the password; many registries require an access token as the password"
}

// isLoginVariable reports whether the credentials in an environment variable are malformed.
func isLoginVariable(err error) bool {
	file, ok := errors.AsType[*credentials.FileError](err)
	return ok && strings.HasPrefix(file.Path, "$")
}

// loginIs returns a predicate that matches credentials that a registry rejected with
// the given status.
func loginIs(status int) func(error) bool {
	return func(err error) bool {
		response, ok := errors.AsType[*repository.ResponseError](err)
		return ok && response.Status == status && refusesLogin(err)
	}
}

// refusesLogin reports whether a registry rejected the credentials or can't use them.
func refusesLogin(err error) bool {
	about, ok := errors.AsType[*repository.Error](err)
	return ok && about.Credentials != ""
}

// isDeniedBy reports whether access was denied and the error contains an error of type E.
func isDeniedBy[E error](err error) bool { return isA[E](err) && errors.Is(err, provider.ErrDenied) }

// proxyHint returns the hint for a proxy that refuses to connect.
func proxyHint(err error) string {
	proxy, ok := errors.AsType[*provider.ProxyError](err)
	switch {
	case !ok:
		return ""
	case proxy.Status == http.StatusProxyAuthRequired && proxy.HasLogin:
		return "correct the credentials in the URL of HTTPS_PROXY or HTTP_PROXY; write %40 for @, %3A for :, and %2F for /"
	case proxy.Status == http.StatusProxyAuthRequired:
		return "add credentials to the proxy URL: HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT, and the same for HTTP_PROXY"
	case proxy.Status == 0:
		return "check HTTPS_PROXY and HTTP_PROXY, or add the host to NO_PROXY"
	case proxy.Status >= http.StatusInternalServerError:
		return "check the host name, or add it to NO_PROXY to bypass the proxy"
	}
	return "allow the host in the proxy configuration, or add it to NO_PROXY to bypass the proxy"
}

// noRepositoryToWrite reports whether the repository to write to does not exist.
func noRepositoryToWrite(err error) bool {
	about, ok := errors.AsType[*repository.Error](err)
	return ok && about.Writing && errors.Is(err, repository.ErrNoRepository)
}

// moreVersions reports whether a version is missing and the message does not list all existing
// versions.
func moreVersions(err error) bool {
	missing, ok := errors.AsType[*provider.VersionError](err)
	return ok && !missing.ListsAll() || !ok && errors.Is(err, provider.ErrVersionNotFound)
}

// registryOf returns the registry that an error concerns. If the registry is unknown,
// it returns "REGISTRY".
func registryOf(err error) string {
	if about, ok := errors.AsType[*repository.Error](err); ok && about.Registry != "" {
		return about.Registry
	}
	return "REGISTRY"
}
