package credentials_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/text"
)

// TestOpenTofuRefusesFiles checks that OpenTofu ignores all files if it cannot read an
// entry, even if the entry is for a different registry.
func TestOpenTofuRefusesFiles(t *testing.T) {
	t.Parallel()
	tests := []struct {
		file, content, why string
	}{
		{"home/.docker/config.json", auths("other.example", `{"auth": "not base64!"}`), "because it rejects"},
		{"home/.docker/config.json", auths("other.example", `{"auth": 1}`), "because it rejects"},
		{"home/.docker/config.json", auths("other.example", `["list"]`), "because it rejects"},
		{"home/.docker/config.json", "", "because it rejects"},
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

// TestOpenTofuOrder checks that a variable moves a file to the front of this package's
// order, but not of OpenTofu's order.
func TestOpenTofuOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env["DOCKER_CONFIG"] = "DIR/home/.docker"
	w.write(t, "home/.docker/config.json", auths("ghcr.example", auth("docker", canary)))
	podman := w.write(t, "run/containers/auth.json", auths("ghcr.example", auth("podman", canary)))
	login, origin, err := w.finder(t).Find(t.Context(), "ghcr.example/acme")
	if err != nil || login.Username != "docker" {
		t.Errorf("%s, %v", describe(login), err)
	}
	checkWhy(t, origin, fmt.Sprintf("OpenTofu uses the credentials in auths of %s", podman))
}

// TestOpenTofuStopsAtAnEntry covers an entry whose auth contains no colon. The entry
// matches the repository. OpenTofu fails, although we use a more specific entry.
func TestOpenTofuStopsAtAnEntry(t *testing.T) {
	t.Parallel()
	const noColon = `{"auth": "bm9jb2xvbg=="}`
	rule := cliconfig.Login{Registry: "ghcr.example", Path: "acme", Username: "rule", Password: text.NewSecret(canary)}
	whole := rule
	whole.Path = "acme/x"
	inFile := auth("user", canary)
	tests := map[string]struct {
		rules          []cliconfig.Login
		podman, docker string
		variable       string
		why            string
	}{
		"with a more specific entry":   {nil, fmt.Sprintf(`{"auths": {"ghcr.example/acme": %s, "ghcr.example": %s}}`, inFile, noColon), "{}", "{}", "OpenTofu fails"},
		"in a later file":              {nil, auths("ghcr.example/acme", inFile), auths("ghcr.example", noColon), "{}", "OpenTofu fails"},
		"with a block":                 {[]cliconfig.Login{rule}, "{}", auths("ghcr.example/acme", noColon), "{}", "OpenTofu fails"},
		"with a longer block":          {[]cliconfig.Login{whole}, auths("ghcr.example/acme", noColon), "{}", "{}", "OpenTofu fails"},
		"an empty block":               {[]cliconfig.Login{{Registry: "ghcr.example", Path: "acme"}}, auths("ghcr.example", inFile), "{}", "{}", `OpenTofu fails, because oci_credentials "ghcr.example/acme" has neither`},
		"a block with only a password": {[]cliconfig.Login{{Registry: "ghcr.example", Password: text.NewSecret("other")}, rule}, "{}", "{}", "{}", `OpenTofu fails, because oci_credentials "ghcr.example" has neither`},
		"for another repository":       {[]cliconfig.Login{rule}, auths("ghcr.example/other", noColon), auths("other.example", noColon), "{}", ""},
		"spelled otherwise":            {[]cliconfig.Login{rule}, auths("https://ghcr.example", noColon), "{}", "{}", ""},
		"in a file it does not read":   {[]cliconfig.Login{rule}, "{}", "{}", auths("ghcr.example", noColon), ""},
		"alone, for OpenTofu":          {nil, auths("ghcr.example", noColon), "{}", auths("ghcr.example/acme", inFile), "OpenTofu does not read $REGISTRY_AUTH_FILE"},
		"in a file that it refuses": {
			[]cliconfig.Login{rule}, fmt.Sprintf(`{"auths": {"ghcr.example": %s, "other.example": {"auth": "not base64!"}}}`, noColon), "{}", "{}", "",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.env["REGISTRY_AUTH_FILE"] = "DIR/variable.json"
			w.config.Logins = test.rules
			w.write(t, "variable.json", test.variable)
			w.write(t, "run/containers/auth.json", test.podman)
			w.write(t, "home/.docker/config.json", test.docker)
			login, origin, err := w.finder(t).Find(t.Context(), "ghcr.example/acme/x")
			if err != nil || login.Password.Reveal() != canary {
				t.Errorf("%s, %v", describe(login), err)
			}
			checkWhy(t, origin, test.why)
			if (origin.Stops != "") != strings.HasPrefix(test.why, "OpenTofu fails") {
				t.Errorf("stops at %q, because %q", origin.Stops, origin.Why)
			}
		})
	}
}

// TestOpenTofuRefusesANamedFile checks that files in docker_style_config_files must be
// valid, even if they contain no credentials for the repository.
func TestOpenTofuRefusesANamedFile(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"", auths("other.example", `{"auth": "not base64!"}`), auths("other.example", `["list"]`)} {
		w := newWorld(t)
		good := w.write(t, "good.json", auths("ghcr.example", auth("user", canary)))
		bad := w.write(t, "bad.json", content)
		w.config.DefaultLogins.DockerFiles = []string{good, bad}
		f := w.finder(t)
		for _, repository := range []string{"ghcr.example/acme", "open.example/acme"} {
			login, origin, err := f.Find(t.Context(), repository)
			if err != nil || login.IsAnonymous() != (repository != "ghcr.example/acme") {
				t.Errorf("%s: %s, %v", repository, describe(login), err)
			}
			checkWhy(t, origin, "OpenTofu fails, because it rejects "+bad)
			if origin.Stops != bad {
				t.Errorf("%s: stops at %q", repository, origin.Stops)
			}
		}
	}
}
