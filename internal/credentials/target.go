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

// hubRegistry is Docker Hub's name in OpenTofu's credentials.
const hubRegistry = "registry-1.docker.io"

// Prefix is a registry, or the repositories below a path in a registry. Credentials
// belong to a prefix.
type Prefix struct {
	// Registry is the "host" or "host:port" that receives requests.
	Registry string
	// Path is the start of repository names. If empty, all repositories are included.
	Path string
}

// version matches the API version at the end of registry URLs that older clients use.
var version = regexp.MustCompile(`/(v[12]/?)?$`)

// ParsePrefix parses "host", "host:port", or "host/path". Like docker login, it also accepts
// "https://host". Hosts are case-insensitive.
func ParsePrefix(s string) (Prefix, error) {
	switch at := strings.IndexAny(s, "{$"); {
	case text.RedactUserinfo(s) != s:
		return Prefix{}, fmt.Errorf("registry %q must not contain credentials; use --username", text.RedactUserinfo(s))
	case at >= 0:
		return Prefix{}, fmt.Errorf("invalid registry %q: want a registry, optionally followed by a prefix of repository names, such as %s", s, strings.TrimRight(s[:at], "/"))
	}
	rest, isURL := strings.CutPrefix(s, "https://")
	if host, isPlain := strings.CutPrefix(s, "http://"); isPlain {
		return Prefix{}, fmt.Errorf("registry %q must not have a scheme; for plain HTTP, use %s --plain-http %[2]s", text.RedactUserinfo(s), text.RedactUserinfo(host))
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
		return Prefix{}, fmt.Errorf("registry %q is an image layout, which needs no credentials", s)
	}
	if err != nil {
		return Prefix{}, fmt.Errorf("invalid registry %q: %w", text.RedactUserinfo(s), problem(err))
	}
	return t, nil
}

// problem removes the parsed text from an error, because the text differs from the
// user's input.
func problem(err error) error {
	if e, ok := errors.AsType[*provider.SyntaxError](err); ok {
		return errors.New(e.Problem)
	}
	return err
}

// String returns "host" or "host/path". For Docker Hub, the host is docker.io.
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

// scope returns the scope to compare with keys.
func (t Prefix) scope() scope { return scope{host: canonical(t.Registry), path: t.Path} }

// repository returns a repository to which the credentials apply.
func (t Prefix) repository() string {
	if t.Path == "" {
		return t.Registry
	}
	return t.Registry + "/" + t.Path
}

// keys returns the keys in auths for Docker, Podman, and OpenTofu. The keys differ only
// for Docker Hub.
func (t Prefix) keys() []string {
	switch {
	case t.Registry == hubRegistry && t.Path == "":
		return []string{hubServer, hubRegistry}
	case t.Registry == hubRegistry:
		return []string{t.String(), t.repository()}
	}
	return []string{t.repository()}
}

// dockerKey returns Docker's key for the registry.
func (t Prefix) dockerKey() string {
	if t.Registry == hubRegistry {
		return hubServer
	}
	return t.Registry
}

// servers returns the names of the registry that Docker and OpenTofu use for helpers.
func (t Prefix) servers() []string {
	return []string{t.dockerKey(), "https://" + t.Registry}
}
