package credentials

import (
	"fmt"
	"strings"
)

// hub is the canonical name of Docker Hub in this package.
const hub = "docker.io"

// hubServer is the key that Docker uses to store credentials for Docker Hub.
const hubServer = "https://index.docker.io/v1/"

// scope is the part of a registry that a key applies to: the whole registry or the
// repositories below a path.
type scope struct {
	// host is in lower case. All names of Docker Hub have the same host.
	host string
	path string
}

// repository is a repository whose credentials are looked up.
type repository struct {
	scope
	// registry is the host in its original spelling.
	registry string
}

func parseRepository(name string) (repository, error) {
	host, path, _ := strings.Cut(name, "/")
	if host == "" {
		return repository{}, fmt.Errorf("repository %q has no registry", name)
	}
	return repository{scope: scope{host: canonical(host), path: path}, registry: host}, nil
}

func canonical(host string) string {
	host = strings.ToLower(host)
	switch host {
	case "index.docker.io", "registry-1.docker.io":
		return hub
	}
	return host
}

// parseKey parses a key in any supported spelling.
func parseKey(key string) scope {
	rest, isURL := strings.CutPrefix(key, "https://")
	if !isURL {
		rest, isURL = strings.CutPrefix(key, "http://")
	}
	host, rest, _ := strings.Cut(rest, "/")
	path := strings.TrimRight(rest, "/")
	if (path == "v1" || path == "v2") && (isURL || path != rest) {
		path = ""
	}
	return scope{host: canonical(host), path: path}
}

// depth returns how specific a scope is for a repository. If the scope doesn't include
// the repository, depth returns 0. Otherwise, it returns 1 plus the number of the
// scope's path components.
func (s scope) depth(r repository) int {
	if s.host != r.host {
		return 0
	}
	if s.path == "" {
		return 1
	}
	if s.path != r.path && !strings.HasPrefix(r.path, s.path+"/") {
		return 0
	}
	return 2 + strings.Count(s.path, "/")
}

// spells reports whether OpenTofu considers a key a match for the repository. OpenTofu
// compares the exact spelling.
func (s scope) spells(key string, r repository) bool {
	if s.path == "" {
		return key == r.registry
	}
	return key == r.registry+"/"+s.path
}

// servers returns the names under which helpers can store credentials for the registry.
// The name that docker login uses comes first, and OpenTofu's name comes last.
func (r repository) servers() []string {
	names := []string{r.registry, r.openTofuServer()}
	if r.host == hub {
		names = append([]string{hubServer}, names...)
	}
	return names
}

// openTofuServer returns the only name that OpenTofu uses to query helpers.
func (r repository) openTofuServer() string { return "https://" + r.registry }
