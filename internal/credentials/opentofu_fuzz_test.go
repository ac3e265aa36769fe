package credentials_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

// openTofuCandidate returns OpenTofu's result for a repository if a file is at a
// default path. The result is credentials, no credentials, or an error. It ignores
// helpers.
func openTofuCandidate(data []byte, registry, path string) (username, password string, found, failed bool) {
	var file struct {
		Auths map[string]*struct {
			Auth []byte `json:"auth"`
		} `json:"auths"`
	}
	if json.Unmarshal(data, &file) != nil {
		return "", "", false, false // OpenTofu continues without the file
	}
	depth := 0
	for key, entry := range file.Auths {
		host, prefix, hasPath := strings.Cut(key, "/")
		if entry == nil || len(entry.Auth) == 0 || host != registry || hasPath && !strings.HasPrefix(path+"/", prefix+"/") {
			continue
		}
		name, word, isPair := strings.Cut(string(entry.Auth), ":")
		if !isPair {
			failed = true
			continue
		}
		if here := 1 + strings.Count(key, "/"); here > depth {
			username, password, found, depth = name, word, true, here
		}
	}
	return username, password, found, found && failed
}

// FuzzFindAsOpenTofu compares Find with openTofuCandidate. It checks that OpenTofu
// actually finds the credentials that Find reports as available to OpenTofu.
func FuzzFindAsOpenTofu(f *testing.F) {
	repository := regexp.MustCompile(`^[a-z0-9.-]+(:[0-9]+)?(/[a-z0-9]+([._-][a-z0-9]+)*)+$`)
	f.Fuzz(func(t *testing.T, data []byte, name string) {
		lower := strings.ToLower(string(data))
		if !repository.MatchString(name) || strings.Contains(lower, "cred") || strings.Contains(lower, `\u`) {
			return // the name is not a repository, or a helper would be run
		}
		w := newWorld(t)
		w.write(t, "home/.docker/config.json", string(data))
		ours, origin, err := w.finder(t).Find(t.Context(), name)
		if err != nil || !origin.OpenTofu {
			return
		}
		registry, path, _ := strings.Cut(name, "/")
		username, password, found, failed := openTofuCandidate(data, registry, path)
		if registry == "docker.io" {
			found = false // OpenTofu uses registry-1.docker.io, where these credentials are not valid
		}
		switch {
		case failed:
			t.Errorf("OpenTofu fails, and we find %s in %s", describe(ours), origin)
		case found != !ours.IsAnonymous():
			t.Errorf("OpenTofu finds a login: %t, and we find %s in %s", found, describe(ours), origin)
		case found && ours != basic(username, password):
			t.Errorf("OpenTofu finds %q %q, and we find %s in %s", username, password, describe(ours), origin)
		}
	})
}
