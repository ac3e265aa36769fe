package credentials_test

import (
	"fmt"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/text"
)

func TestKeys(t *testing.T) {
	t.Parallel()
	const spelling = "does not recognize this key"
	tests := []struct {
		key, repository string
		want            bool
		why             string
	}{
		{"ghcr.example", "ghcr.example/acme/x", true, ""},
		{"ghcr.example", "ghcr.example", true, ""},
		{"ghcr.example:5000", "ghcr.example:5000/acme/x", true, ""},
		{"[::1]:5000", "[::1]:5000/acme/x", true, ""},
		{"ghcr.example/acme", "ghcr.example/acme/x", true, ""},
		{"ghcr.example/acme/x", "ghcr.example/acme/x", true, ""},
		{"ghcr.example/v1", "ghcr.example/v1/x", true, ""},
		{"GHCR.example", "ghcr.example/acme/x", true, spelling},
		{"ghcr.example/", "ghcr.example/acme/x", true, spelling},
		{"https://ghcr.example", "ghcr.example/acme/x", true, spelling},
		{"http://ghcr.example", "ghcr.example/acme/x", true, spelling},
		{"https://ghcr.example/", "ghcr.example/acme/x", true, spelling},
		{"https://ghcr.example/v1/", "ghcr.example/acme/x", true, spelling},
		{"https://ghcr.example/v2/", "ghcr.example/acme/x", true, spelling},
		{"https://ghcr.example/v2", "ghcr.example/acme/x", true, spelling},
		{"ghcr.example/v1/", "ghcr.example/acme/x", true, spelling},
		{"ghcr.example/v2/", "ghcr.example/acme/x", true, spelling},
		{"ghcr.example/acme/", "ghcr.example/acme/x", true, spelling},
		{"https://ghcr.example/acme", "ghcr.example/acme/x", true, spelling},
		{"ghcr.example", "ghcr.example:5000/acme/x", false, ""},
		{"ghcr.example:5000", "ghcr.example/acme/x", false, ""},
		{"example", "ghcr.example/acme/x", false, ""},
		{"ghcr.example/acm", "ghcr.example/acme/x", false, ""},
		{"ghcr.example/acme/x/y", "ghcr.example/acme/x", false, ""},
		{"ghcr.example/ACME", "ghcr.example/acme/x", false, ""},
		{"ghcr.example//acme", "ghcr.example/acme/x", false, ""},
		{"ghcr.example/v1", "ghcr.example/acme/x", false, ""},
		{"https://ghcr.example/acme", "ghcr.example/other/x", false, ""},
		{"https://user@ghcr.example", "ghcr.example/acme/x", false, ""},
		{"ftp://ghcr.example", "ghcr.example/acme/x", false, ""},
		{"", "ghcr.example/acme/x", false, ""},

		{"docker.io", "docker.io/acme/x", true, "only as registry-1.docker.io"},
		{"https://index.docker.io/v1/", "docker.io/acme/x", true, "only as registry-1.docker.io"},
		{"https://index.docker.io/v1/", "registry-1.docker.io/acme/x", true, spelling},
		{"index.docker.io", "registry-1.docker.io/acme/x", true, spelling},
		{"docker.io/acme", "registry-1.docker.io/acme/x", true, spelling},
		{"registry-1.docker.io", "index.docker.io/acme/x", true, spelling},
		{"registry-1.docker.io/acme", "registry-1.docker.io/acme/x", true, ""},
		// Docker Desktop uses these entries internally.
		{"https://index.docker.io/v1/access-token", "docker.io/acme/x", false, ""},
		{"https://index.docker.io/v1/refresh-token", "docker.io/acme/x", false, ""},
	}
	for _, test := range tests {
		t.Run(test.key+" for "+test.repository, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.write(t, "home/.docker/config.json", auths(test.key, auth("user", canary)))
			login, origin, err := w.finder(t).Find(t.Context(), test.repository)
			if err != nil || login.IsAnonymous() == test.want {
				t.Errorf("%s, %v, want a login: %t", describe(login), err, test.want)
			}
			if test.want && origin.Key != test.key {
				t.Errorf("origin %+v", origin)
			}
			checkWhy(t, origin, test.why)
		})
	}
}

func TestKeysBeforeAuths(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]bool{"https://index.docker.io/v1/": true, "auths.example": false} {
		w := newWorld(t)
		w.write(t, "home/.dockercfg", fmt.Sprintf(`{%q: %s}`, key, auth("user", canary)))
		login, origin, err := w.finder(t).Find(t.Context(), "registry-1.docker.io/acme/x")
		if err != nil || login.IsAnonymous() == want {
			t.Errorf("%s: %s, %v", key, describe(login), err)
		}
		if want {
			checkWhy(t, origin, "OpenTofu does not")
		}
	}
}

func TestMostSpecificWins(t *testing.T) {
	t.Parallel()
	rule := func(registry, prefix string) cliconfig.Login {
		return cliconfig.Login{Registry: registry, Path: prefix, Username: "rule", Password: text.NewSecret(canary)}
	}
	const host, acme, whole = "ghcr.example", "ghcr.example/acme", "ghcr.example/acme/x"
	tests := []struct {
		test           string
		rules          []cliconfig.Login
		podman, docker string
		want           string
	}{
		{"block before file", []cliconfig.Login{rule(host, "")}, auths(host, auth("podman", "p")), auths(host, auth("docker", "p")), "rule"},
		{"block with a path before file", []cliconfig.Login{rule(host, "acme")}, auths(host, auth("podman", "p")), "{}", "rule"},
		{"file with a path before block", []cliconfig.Login{rule(host, "")}, "{}", auths(acme, auth("docker", "p")), "docker"},
		{"longer path of a later file", nil, auths(acme, auth("podman", "p")), auths(whole, auth("docker", "p")), "docker"},
		{"first block of two", []cliconfig.Login{
			{Registry: host, Username: "first", Password: text.NewSecret("p")}, rule(host, ""),
		}, "{}", "{}", "first"},
		{"block that is not for it", []cliconfig.Login{rule(host, "other"), rule("other.example", "")}, "{}", auths(host, auth("docker", "p")), "docker"},
		{
			"spelling of today", nil, "{}",
			fmt.Sprintf(`{"auths": {"https://ghcr.example/v1/": %s, "ghcr.example": %s, "GHCR.example": %s}}`, auth("url", "p"), auth("today", "p"), auth("upper", "p")),
			"today",
		},
		{
			"auths before credHelpers", nil, "{}",
			fmt.Sprintf(`{"auths": {"ghcr.example": %s}, "credHelpers": {"ghcr.example": "plain"}}`, auth("docker", "p")), "docker",
		},
		{"credHelpers before auths of a later file", nil, `{"credHelpers": {"ghcr.example": "plain"}}`, auths(host, auth("docker", "p")), "plain"},
		{"auths of a later file before credsStore", nil, `{"credsStore": "plain"}`, auths(host, auth("docker", "p")), "docker"},
		{"credHelpers before credsStore", nil, "{}", `{"credsStore": "url", "credHelpers": {"ghcr.example": "plain"}}`, "plain"},
		{"what an empty entry leaves to credsStore", nil, "{}", `{"auths": {"ghcr.example": {}}, "credsStore": "plain"}`, "plain"},
		{"what a null leaves to credsStore", nil, "{}", `{"auths": {"ghcr.example": null}, "credsStore": "plain"}`, "plain"},
		{"what a name alone leaves to another file", nil, auths(host, auth("user", "")), auths(host, auth("docker", "p")), "docker"},
		{"what a helper doesn't know", nil, `{"credHelpers": {"ghcr.example": "none"}}`, auths(host, auth("docker", "p")), "docker"},
		{"helpers know no paths", nil, `{"credHelpers": {"ghcr.example/acme": "plain", "ghcr.example": ""}}`, "{}", ""},
	}
	for _, test := range tests {
		t.Run(test.test, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.config.Logins = test.rules
			w.write(t, "run/containers/auth.json", test.podman)
			w.write(t, "home/.docker/config.json", test.docker)
			login, origin, err := w.finder(t).Find(t.Context(), whole)
			if err != nil || login.Username != test.want {
				t.Errorf("%s from %s, %v, want %q", describe(login), origin, err, test.want)
			}
		})
	}
}
