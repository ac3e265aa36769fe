package main

import (
	"errors"
	"io/fs"
	"net/http"
	"os/exec"
	"strings"
	"syscall"

	"github.com/tofu-oci/tofu-oci/internal/logins"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// noHelper knows a credential helper that is named and not there.
func noHelper(err error) bool {
	if helper, ok := errors.AsType[*logins.HelperError](err); ok {
		return helper.IsMissing()
	}
	return isA[*repository.LookupError](err) && errors.Is(err, exec.ErrNotFound)
}

// isLoginVariable knows logins that a variable holds, and that are none.
func isLoginVariable(err error) bool {
	file, ok := errors.AsType[*logins.FileError](err)
	return ok && strings.HasPrefix(file.Path, "$")
}

// isLoginFile knows a file with logins for what is in it, in contrast to one that
// cannot be opened.
func isLoginFile(err error) bool {
	file, ok := errors.AsType[*logins.FileError](err)
	_, fromSystem := errors.AsType[syscall.Errno](err)
	return ok && !fromSystem && !errors.Is(file, fs.ErrNotExist)
}

// loginIs knows a login that a registry refuses with a status.
func loginIs(status int) func(error) bool {
	return func(err error) bool {
		answer, ok := errors.AsType[*repository.ResponseError](err)
		return ok && answer.Status == status && isA[*repository.LoginError](err)
	}
}

// isDeniedBy knows a refusal by whom errors of a type are about.
func isDeniedBy[E error](err error) bool { return isA[E](err) && errors.Is(err, provider.ErrDenied) }

// proxyIs knows a proxy that answers a status, or does not answer, which is 0.
func proxyIs(status int) func(error) bool {
	return func(err error) bool {
		proxy, ok := errors.AsType[*provider.ProxyError](err)
		return ok && proxy.Status == status
	}
}

// proxyRefuses knows a proxy that does not take the login which its URL has.
func proxyRefuses(err error) bool {
	proxy, ok := errors.AsType[*provider.ProxyError](err)
	return ok && proxy.Status == http.StatusProxyAuthRequired && proxy.HasLogin
}

// proxyFails knows a proxy that reached nobody, or is out of order.
func proxyFails(err error) bool {
	proxy, ok := errors.AsType[*provider.ProxyError](err)
	return ok && proxy.Status >= http.StatusInternalServerError
}

// noRepositoryToWrite knows a registry that wants a repository to be there first.
func noRepositoryToWrite(err error) bool {
	about, ok := errors.AsType[*repository.Error](err)
	return ok && about.Writing && errors.Is(err, repository.ErrNoRepository)
}

// moreVersions knows a version that is not there, where the message could not name
// all that are. It is no news to who lists them already.
func moreVersions(err error) bool {
	if isA[*listError](err) {
		return false
	}
	missing, ok := errors.AsType[*provider.VersionError](err)
	return ok && len(missing.Have) > provider.MaxSomeVersions || !ok && errors.Is(err, provider.ErrVersionNotFound)
}

// registryOf names the registry that an error is about, REGISTRY where that is not known.
func registryOf(err error) string {
	if lookup, ok := errors.AsType[*repository.LookupError](err); ok {
		return lookup.Registry
	}
	if about, ok := errors.AsType[*repository.Error](err); ok && about.Registry != "" {
		return about.Registry
	}
	return "REGISTRY"
}
