package credentials

import (
	"fmt"
	"strings"
)

// hub is the name that Docker Hub's names stand for here.
const hub = "docker.io"

// hubServer is the name under which Docker keeps its login to Docker Hub.
const hubServer = "https://index.docker.io/v1/"

// scope is what a key is for: a registry, or the repositories below a path.
type scope struct {
	// host is in lower case, and one for all of Docker Hub's names.
	host string
	path string
}

// repository is the one that a login is looked for.
type repository struct {
	scope
	// registry is the host as it was written.
	registry string
}

func parseRepository(name string) (repository, error) {
	host, path, _ := strings.Cut(name, "/")
	if host == "" {
		return repository{}, fmt.Errorf("repository %q names no registry", name)
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

// parseKey reads a key in any of its spellings.
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

// depth tells how specific a scope is for a repository: 0 it is not for it, 1 it
// is for the whole registry, and 1 more for each element of the path.
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

// spells reports whether a key is for the repository as OpenTofu compares them:
// character by character.
func (s scope) spells(key string, r repository) bool {
	if s.path == "" {
		return key == r.registry
	}
	return key == r.registry+"/"+s.path
}

// servers are the names that helpers may know the registry by: what docker login
// stores first, OpenTofu's last.
func (r repository) servers() []string {
	names := []string{r.registry, r.openTofuServer()}
	if r.host == hub {
		names = append([]string{hubServer}, names...)
	}
	return names
}

// openTofuServer is the only name that OpenTofu asks helpers for.
func (r repository) openTofuServer() string { return "https://" + r.registry }
