package credentials_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/credentials"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
)

func TestFindSearchesAllLocations(t *testing.T) {
	t.Parallel()
	const authFile, dockerConfig = "$REGISTRY_AUTH_FILE", "$DOCKER_CONFIG"
	tests := []struct {
		test, os string
		env      map[string]string
		file     string
		why      string
	}{
		{"podman's variable", "linux", map[string]string{"REGISTRY_AUTH_FILE": "DIR/mine.json"}, "mine.json", authFile},
		{"podman's variable", "windows", map[string]string{"REGISTRY_AUTH_FILE": "DIR/mine.json"}, "mine.json", authFile},
		{"docker's variable", "linux", map[string]string{"DOCKER_CONFIG": "DIR/docker"}, "docker/config.json", dockerConfig},
		{"docker's variable", "darwin", map[string]string{"DOCKER_CONFIG": "DIR/docker"}, "docker/config.json", dockerConfig},
		{"docker's variable", "windows", map[string]string{"DOCKER_CONFIG": "DIR/docker"}, "docker/config.json", dockerConfig},
		{"docker's variable, where it is anyway", "linux", map[string]string{"DOCKER_CONFIG": "DIR/home/.docker"}, "home/.docker/config.json", ""},
		{"podman's session", "linux", map[string]string{"XDG_RUNTIME_DIR": "DIR/run"}, "run/containers/auth.json", ""},
		{"podman's session", "freebsd", map[string]string{"XDG_RUNTIME_DIR": "DIR/run"}, "run/containers/auth.json", "only on Linux"},
		{"podman's configuration", "linux", map[string]string{"XDG_CONFIG_HOME": "DIR/config"}, "config/containers/auth.json", ""},
		{"podman's configuration", "darwin", map[string]string{"XDG_CONFIG_HOME": "DIR/config"}, "config/containers/auth.json", ""},
		{"podman's configuration", "windows", map[string]string{"XDG_CONFIG_HOME": "DIR/config"}, "config/containers/auth.json", ""},
		{"podman's default", "linux", nil, "home/.config/containers/auth.json", ""},
		{"podman's default", "darwin", nil, "home/.config/containers/auth.json", ""},
		{"podman's default", "windows", nil, "home/.config/containers/auth.json", ""},
		{"Podman's default with XDG_CONFIG_HOME", "darwin", map[string]string{"XDG_CONFIG_HOME": "DIR/config"}, "home/.config/containers/auth.json", ""},
		{"docker's default", "linux", nil, "home/.docker/config.json", ""},
		{"docker's default", "darwin", nil, "home/.docker/config.json", ""},
		{"docker's default", "windows", nil, "home/.docker/config.json", ""},
		{"Docker's default with DOCKER_CONFIG", "linux", map[string]string{"DOCKER_CONFIG": "DIR/docker"}, "home/.docker/config.json", ""},
		{"the file before config.json, in today's format", "linux", nil, "home/.dockercfg", ""},
	}
	for _, test := range tests {
		t.Run(test.test+" on "+test.os, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.os, w.env = test.os, test.env
			path := w.write(t, test.file, auths("ghcr.example", auth("user", canary)))
			login, origin, err := w.finder(t).Find(t.Context(), "ghcr.example/acme/x")
			if err != nil || login != basic("user", canary) {
				t.Errorf("%s, %v", describe(login), err)
			}
			if origin.Kind != credentials.FromFile || origin.File != path || origin.Section != "auths" || origin.Key != "ghcr.example" {
				t.Errorf("origin %+v, want %s", origin, path)
			}
			checkWhy(t, origin, test.why)
		})
	}
}

func TestPlacesAreInOrder(t *testing.T) {
	t.Parallel()
	tests := []struct {
		test, os, home string
		env            map[string]string
		want           []string
	}{
		{"linux", "linux", "/h", map[string]string{"XDG_RUNTIME_DIR": "/run/user/7"}, []string{
			"/run/user/7/containers/auth.json", "/h/.config/containers/auth.json", "/h/.docker/config.json", "/h/.dockercfg",
		}},
		{"linux without a session", "linux", "/h", nil, []string{
			"- /run/containers/7/auth.json", "/h/.config/containers/auth.json", "/h/.docker/config.json", "/h/.dockercfg",
		}},
		{"all variables", "linux", "/h", map[string]string{
			"REGISTRY_AUTH_FILE": "/a.json", "DOCKER_CONFIG": "/d", "XDG_RUNTIME_DIR": "/r", "XDG_CONFIG_HOME": "/c",
		}, []string{
			"- /a.json", "- /d/config.json", "/r/containers/auth.json", "/c/containers/auth.json", "/h/.docker/config.json", "/h/.dockercfg",
		}},
		{"variables for the usual places", "linux", "/h", map[string]string{
			"REGISTRY_AUTH_FILE": "/r/containers/auth.json", "DOCKER_CONFIG": "/h/.docker/", "XDG_RUNTIME_DIR": "/r",
		}, []string{
			"/r/containers/auth.json", "/h/.docker/config.json", "/h/.config/containers/auth.json", "/h/.dockercfg",
		}},
		{"text in a variable", "linux", "/h", map[string]string{
			"DOCKER_AUTH_CONFIG": "{}", "REGISTRY_AUTH_FILE": "/a.json", "XDG_RUNTIME_DIR": "/r",
		}, []string{
			"- $DOCKER_AUTH_CONFIG", "- /a.json", "/r/containers/auth.json", "/h/.config/containers/auth.json", "/h/.docker/config.json", "/h/.dockercfg",
		}},
		{"mac", "darwin", "/h", map[string]string{"XDG_RUNTIME_DIR": "/r", "XDG_CONFIG_HOME": "/c"}, []string{
			"/h/.config/containers/auth.json", "/c/containers/auth.json", "/h/.docker/config.json", "/h/.dockercfg",
		}},
		{"windows", "windows", "/h", nil, []string{"/h/.config/containers/auth.json", "/h/.docker/config.json", "/h/.dockercfg"}},
		{"no home", "windows", "", map[string]string{"DOCKER_CONFIG": "/d"}, []string{"- /d/config.json"}},
	}
	for _, test := range tests {
		t.Run(test.test, func(t *testing.T) {
			t.Parallel()
			e := credentials.Environment{OS: test.os, Home: filepath.FromSlash(test.home), UID: 7}
			e.Getenv = func(name string) string { return test.env[name] }
			f := credentials.New(cliconfig.Config{}, e)
			var got []string
			for _, p := range f.Files() {
				text := filepath.ToSlash(p.Path)
				if !p.OpenTofu {
					text = "- " + text
				}
				if p.OpenTofu != (p.Why == "") {
					t.Errorf("%s: %q", text, p.Why)
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("places (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLocationPrecedence stores different credentials for one repository in every
// location. It removes the locations one by one and checks which credentials are found.
func TestLocationPrecedence(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env = map[string]string{
		"REGISTRY_AUTH_FILE": "DIR/mine.json", "DOCKER_CONFIG": "DIR/docker", "XDG_RUNTIME_DIR": "DIR/run", "XDG_CONFIG_HOME": "DIR/config",
	}
	files := []string{
		"mine.json", "docker/config.json", "run/containers/auth.json", "config/containers/auth.json", "home/.docker/config.json", "home/.dockercfg",
	}
	for _, name := range files {
		w.write(t, name, auths("ghcr.example", auth(name, "p")))
	}
	for i, name := range files {
		login, origin, err := w.finder(t).Find(t.Context(), "ghcr.example/acme")
		if err != nil || login.Username != name || origin.File != w.path(name) {
			t.Errorf("%s from %s, %v, want %s", login.Username, origin, err, name)
		}
		why := ""
		if i < 2 {
			why = "so it uses the credentials in auths of " + w.path("run/containers/auth.json")
		}
		checkWhy(t, origin, why)
		w.write(t, name, "{}")
	}
}

// TestTextInAVariable covers $DOCKER_AUTH_CONFIG, which OpenTofu does not read.
func TestTextInAVariable(t *testing.T) {
	t.Parallel()
	const variable = "$DOCKER_AUTH_CONFIG"
	w := newWorld(t)
	w.env["DOCKER_AUTH_CONFIG"] = auths("ghcr.example", auth("variable", canary))
	w.env["REGISTRY_AUTH_FILE"] = "DIR/mine.json"
	w.write(t, "mine.json", auths("ghcr.example", auth("file", canary)))
	w.write(t, "home/.docker/config.json", auths("ghcr.example/acme/special", auth("special", canary)))
	for repository, want := range map[string]string{"ghcr.example/acme": "variable", "ghcr.example/acme/special": "special"} {
		login, origin, err := w.finder(t).Find(t.Context(), repository)
		if err != nil || login != basic(want, canary) {
			t.Errorf("%s: %s, %v", repository, describe(login), err)
		}
		if want == "variable" {
			checkWhy(t, origin, "OpenTofu does not read "+variable)
			if want := `auths of ` + variable + ` under "ghcr.example"`; origin.String() != want || origin.File != variable {
				t.Errorf("found in %s, want %s", origin, want)
			}
		}
	}
	if p := w.finder(t).Files()[0]; !p.Variable || !p.Exists || p.OpenTofu || p.Err != nil {
		t.Errorf("the place is %+v", p)
	}

	// Invalid text is skipped like an invalid file, and errors contain no secret.
	w.env["DOCKER_AUTH_CONFIG"] = `{"auths": {"ghcr.example": "` + canary
	login, _, err := w.finder(t).Find(t.Context(), "ghcr.example/acme")
	if err != nil || login.Username != "file" {
		t.Errorf("with a file: %s, %v", describe(login), err)
	}
	var broken *credentials.FileError
	if _, _, err = w.finder(t).Find(t.Context(), "other.example/acme"); !errors.As(err, &broken) || broken.Path != variable || strings.Contains(err.Error(), canary) {
		t.Errorf("alone: %v", err)
	}

	// If the configuration lists the files, the variable is ignored.
	for _, none := range []cliconfig.DefaultLogins{{DockerFiles: []string{}}, {NoAmbient: true}} {
		w.config.DefaultLogins = none
		if login, _, err := w.finder(t).Find(t.Context(), "ghcr.example/acme"); err != nil || !login.IsAnonymous() {
			t.Errorf("%+v: %s, %v", none, describe(login), err)
		}
	}
}

func TestSystemEnvironment(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	e := credentials.SystemEnvironment()
	if e.OS == "" || e.Home != home || e.Getenv("HOME") != home {
		t.Errorf("%+v", e)
	}
	t.Setenv("HOME", "")
	t.Setenv("USERPROFILE", "")
	if credentials.SystemEnvironment().Home == home {
		t.Error("the home directory is not looked up")
	}
}

func TestCertDirs(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		os   string
		env  map[string]string
		want []string
	}{
		{"linux", nil, []string{"/home/jane/.docker/certs.d", "/etc/docker/certs.d"}},
		{"darwin", map[string]string{"DOCKER_CONFIG": "/docker"}, []string{"/docker/certs.d", "/home/jane/.docker/certs.d", "/etc/docker/certs.d"}},
		{"windows", map[string]string{"ProgramData": "/programs"}, []string{"/home/jane/.docker/certs.d", "/programs/docker/certs.d"}},
	} {
		e := credentials.Environment{OS: test.os, Home: filepath.FromSlash("/home/jane"), Getenv: func(name string) string { return test.env[name] }}
		var got []string
		for _, dir := range e.CertDirs() {
			got = append(got, filepath.ToSlash(dir))
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", test.os, diff)
		}
	}
}

// TestFilesAreReadAgain checks that a server uses replaced credentials after a minute,
// and that it keeps the previous ones while a file can't be used.
func TestFilesAreReadAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const name = "home/.docker/config.json"
	w.write(t, name, auths("ghcr.example", auth("user", "first")))
	synctest.Test(t, func(t *testing.T) {
		r := credentials.New(w.config, w.environment())
		for _, step := range []struct {
			write string
			after time.Duration
			want  string
		}{
			{auths("ghcr.example", auth("user", "first")), 0, "first"},
			{auths("ghcr.example", auth("user", "second")), time.Minute - 1, "first"},
			{auths("ghcr.example", auth("user", "second")), 1, "second"},
			{`{"auths": {"ghcr.example": {"au`, time.Minute, "second"},
			{`{"auths": {"ghcr.example": {"au`, time.Hour, "second"},
			{auths("ghcr.example", auth("user", "third")), time.Minute, "third"},
			{`{}`, time.Minute, ""},
		} {
			w.write(t, name, step.write)
			time.Sleep(step.after)
			if login, err := r.Login(t.Context(), "ghcr.example/acme"); err != nil || login.Password.Reveal() != step.want {
				t.Errorf("%s: %s, %v, want %q", step.write, describe(login), err, step.want)
			}
		}
	})
}

// TestErrorsAreReadAgain checks that a file that couldn't be used at first is used once
// it is correct.
func TestErrorsAreReadAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.config.DefaultLogins.DockerFiles = []string{w.path("config.json")}
	synctest.Test(t, func(t *testing.T) {
		r := credentials.New(w.config, w.environment())
		for _, content := range []string{"", "{", auths("ghcr.example", auth("user", "password"))} {
			if content != "" {
				w.write(t, "config.json", content)
			}
			isValid := len(content) > 1
			if login, err := r.Login(t.Context(), "ghcr.example/acme"); (err == nil) != isValid || login.IsAnonymous() == isValid {
				t.Errorf("%q: %s, %v", content, describe(login), err)
			}
			time.Sleep(time.Minute)
		}
	})
}
