package logins_test

import (
	"fmt"
	"testing"
)

// TestOpenTofuRefusesFiles: one entry that it can't read, of whatever registry,
// makes OpenTofu leave all files aside.
func TestOpenTofuRefusesFiles(t *testing.T) {
	t.Parallel()
	tests := []struct {
		file, content, why string
	}{
		{"home/.docker/config.json", auths("other.example", `{"auth": "not base64!"}`), "since it refuses"},
		{"home/.docker/config.json", auths("other.example", `{"auth": 1}`), "since it refuses"},
		{"home/.docker/config.json", auths("other.example", `["list"]`), "since it refuses"},
		{"home/.docker/config.json", "", "since it refuses"},
		{"home/.docker/config.json", auths("other.example", `{"password": 1}`), ""},
		{"home/.docker/config.json", auths("other.example", `{"auth": "bm9jb2xvbg=="}`), ""},
		{"docker/config.json", auths("other.example", `{"auth": "not base64!"}`), ""},
		{"home/.dockercfg", `{"other.example": {"auth": "not base64!"}}`, ""},
	}
	for _, test := range tests {
		w := newWorld(t)
		w.env["DOCKER_CONFIG"] = "DIR/docker"
		w.write(t, test.file, test.content)
		w.write(t, "run/containers/auth.json", auths("ghcr.example", auth("user", canary)))
		login, origin, err := w.finder(t).Find(t.Context(), "ghcr.example/acme")
		if err != nil || login != basic("user", canary) {
			t.Errorf("%s: %s, %v", test.content, describe(login), err)
		}
		checkWhy(t, origin, test.why)
	}
}

// TestOpenTofuHasItsOwnOrder: a variable brings a file before others here, which
// OpenTofu reads in its usual place.
func TestOpenTofuHasItsOwnOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env["DOCKER_CONFIG"] = "DIR/home/.docker"
	w.write(t, "home/.docker/config.json", auths("ghcr.example", auth("docker", canary)))
	podman := w.write(t, "run/containers/auth.json", auths("ghcr.example", auth("podman", canary)))
	login, origin, err := w.finder(t).Find(t.Context(), "ghcr.example/acme")
	if err != nil || login.Username != "docker" {
		t.Errorf("%s, %v", describe(login), err)
	}
	checkWhy(t, origin, fmt.Sprintf("OpenTofu takes what it finds in auths of %s", podman))
}
