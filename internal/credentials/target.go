package credentials

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// hubRegistry is the name under which OpenTofu logs in to Docker Hub.
const hubRegistry = "registry-1.docker.io"

// Prefix is what a login is for: a registry, or the repositories below a path of
// it. The zero value is no target.
type Prefix struct {
	// Registry is "host" or "host:port", as requests go to it.
	Registry string
	// Path is the first part of the names of repositories; empty is all of them.
	Path string
}

// version is an API's, at the end of what older clients call a registry.
var version = regexp.MustCompile(`/(v[12]/?)?$`)

// ParsePrefix reads "host", "host:port" or "host/path". What is written as for
// docker login is understood too: "https://host". Upper and lower case of a host
// are the same.
func ParsePrefix(s string) (Prefix, error) {
	switch at := strings.IndexAny(s, "{$"); {
	case text.RedactUserinfo(s) != s:
		return Prefix{}, fmt.Errorf("registry %q: a registry is named without a user and a password; the user is named with --username", text.RedactUserinfo(s))
	case at >= 0:
		return Prefix{}, fmt.Errorf("registry %q: a login is for a registry, or for all repositories below a path of it: %s", s, strings.TrimRight(s[:at], "/"))
	}
	rest, isURL := strings.CutPrefix(s, "https://")
	if host, isPlain := strings.CutPrefix(s, "http://"); isPlain {
		return Prefix{}, fmt.Errorf("registry %q: a registry has no scheme; for one without TLS it is %s --plain-http %[2]s", text.RedactUserinfo(s), text.RedactUserinfo(host))
	}
	if isURL {
		rest = version.ReplaceAllString(rest, "")
	}
	rest = strings.TrimSuffix(rest, "/")
	host, path, scoped := strings.Cut(rest, "/")
	host = strings.ToLower(host)
	if canonical(host) == hub {
		host = hubRegistry
	}
	t := Prefix{Registry: host, Path: path}
	checked := host + "/" + path
	if !scoped {
		checked = host + "/any"
	}
	ref, err := template.ParseReference(checked)
	if err == nil && ref.IsLayout() {
		return Prefix{}, fmt.Errorf("registry %q: an image layout needs no login", s)
	}
	if err != nil {
		return Prefix{}, fmt.Errorf("registry %q: %w", text.RedactUserinfo(s), problem(err))
	}
	return t, nil
}

// problem leaves out what was read, which is not what was written.
func problem(err error) error {
	if e, ok := errors.AsType[*provider.SyntaxError](err); ok {
		return errors.New(e.Problem)
	}
	return err
}

// String returns "host" or "host/path"; Docker Hub is docker.io.
func (t Prefix) String() string {
	host := t.Registry
	if host == hubRegistry {
		host = hub
	}
	if t.Path == "" {
		return host
	}
	return host + "/" + t.Path
}

// scope is what keys are compared with.
func (t Prefix) scope() scope { return scope{host: canonical(t.Registry), path: t.Path} }

// repository is one that the login is for.
func (t Prefix) repository() string {
	if t.Path == "" {
		return t.Registry
	}
	return t.Registry + "/" + t.Path
}

// keys are those of auths: the one of Docker and Podman, and that of OpenTofu.
// They differ for Docker Hub only.
func (t Prefix) keys() []string {
	switch {
	case t.Registry == hubRegistry && t.Path == "":
		return []string{hubServer, hubRegistry}
	case t.Registry == hubRegistry:
		return []string{t.String(), t.repository()}
	}
	return []string{t.repository()}
}

// dockerKey is the key by which Docker knows the registry.
func (t Prefix) dockerKey() string {
	if t.Registry == hubRegistry {
		return hubServer
	}
	return t.Registry
}

// servers are the names for helpers: Docker's and OpenTofu's.
func (t Prefix) servers() []string {
	return []string{t.dockerKey(), "https://" + t.Registry}
}
