package credentials_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/credentials"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/text"
)

func TestEntries(t *testing.T) {
	t.Parallel()
	encode := base64.StdEncoding.EncodeToString
	identity := credentials.Credential{IdentityToken: text.NewSecret(canary)}
	azure := credentials.Credential{Username: "00000000-0000-0000-0000-000000000000", IdentityToken: text.NewSecret(canary)}
	tests := []struct {
		test, entry string
		want        credentials.Credential
		why         string
	}{
		{"auth", auth("user", "pass:word"), basic("user", "pass:word"), ""},
		{"zero bytes", auth("user", "password\x00\x00"), basic("user", "password"), "zero bytes"},
		{"other fields", strings.Replace(auth("user", "p"), "{", `{"email": "u@example", "serveraddress": 1, `, 1), basic("user", "p"), ""},
		{"plain words", `{"username": "user", "password": "p"}`, basic("user", "p"), "only from auth"},
		{"auth counts", strings.Replace(auth("user", "p"), "{", `{"username": "other", "password": "q", `, 1), basic("user", "p"), ""},
		{"identity token", `{"identitytoken": "` + canary + `"}`, identity, "identitytoken"},
		{"identity token of Azure", strings.Replace(auth(azure.Username, ""), "}", `, "identitytoken": "`+canary+`"}`, 1), azure, "identitytoken"},
		{"registry token", `{"registrytoken": "` + canary + `"}`, credentials.Credential{RegistryToken: text.NewSecret(canary)}, "registrytoken"},
		{"nothing", `{}`, credentials.Credential{}, ""},
		{"null", `null`, credentials.Credential{}, ""},
		{"empty auth", `{"auth": ""}`, credentials.Credential{}, ""},
		{"no password", auth("user", ""), credentials.Credential{}, "uses the credentials in auths of"},
	}
	for _, test := range tests {
		t.Run(test.test, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.write(t, "home/.docker/config.json", auths("ghcr.example", test.entry))
			login, origin, err := w.finder(t).Find(t.Context(), "ghcr.example/acme")
			if err != nil || login != test.want {
				t.Errorf("%s, %v, want %s", describe(login), err, describe(test.want))
			}
			checkWhy(t, origin, test.why)
		})
	}

	wrong := map[string]string{
		`"` + canary + `"`:                                               "not a JSON object",
		`["` + canary + `"]`:                                             "not a JSON object",
		`{"auth": 12345678}`:                                             "not a JSON object with string values",
		`{"password": ["` + canary + `"]}`:                               "not a JSON object with string values",
		`{"auth": "` + canary + `!"}`:                                    "not valid base64",
		`{"auth": "` + encode([]byte(canary)) + `"}`:                     "without a colon",
		`{"auth": "` + encode([]byte("u:" + canary + "12"))[:20] + `="}`: "not valid base64",
	}
	for entry, problem := range wrong {
		w := newWorld(t)
		path := w.write(t, "home/.docker/config.json", auths("ghcr.example", entry))
		f := w.finder(t)
		_, origin, err := f.Find(t.Context(), "ghcr.example/acme")
		var broken *credentials.FileError
		if !errors.As(err, &broken) || broken.Path != path || !strings.Contains(err.Error(), `entry "ghcr.example" in auths`) || !strings.Contains(err.Error(), problem) {
			t.Errorf("%s: %v", entry, err)
		}
		if text := fmt.Sprintf("%v %+v %#v", err, broken, broken); strings.Contains(text, canary) || strings.Contains(text, "1234") {
			t.Errorf("error %q contains the entry", text)
		}
		if origin.File != path || origin.Key != "ghcr.example" {
			t.Errorf("the fault is that of %+v", origin)
		}
		if login, _, err := f.Find(t.Context(), "other.example/acme"); err != nil || !login.IsAnonymous() {
			t.Errorf("an entry for another registry: %v", err)
		}
	}
}

func TestBrokenFiles(t *testing.T) {
	t.Parallel()
	tests := []struct {
		test, content string
		line          int
		problem       string
	}{
		{"cut off", "{\n  \"auths\": {\n", 2, "invalid JSON"},
		{"comma", "{\n  \"auths\": {},\n}", 3, "invalid JSON"},
		{"line break in a string", "{\n \"auths\": {\"a\n\": {}}}", 2, "invalid JSON"},
		{"two objects", "{}\n{}", 2, "invalid JSON"},
		{"list", "[]", 1, "not a JSON object"},
		{"number", "\n\n12345678", 3, "not a JSON object"},
		{"list of auths", "{\n\"credsStore\": \"x\",\n\"auths\": [\"" + canary + "\"]}", 3, "auths has a value of the wrong type"},
		{"helper of the wrong type", "{\"credHelpers\": {\n\"ghcr.example\": 12345678}}", 2, "wrong type"},
		{"store of the wrong type", `{"credsStore": ["` + canary + `"]}`, 1, "credsStore has a value of the wrong type"},
		{"too long", strings.Repeat(" ", 4<<20) + "{}", 0, "exceeds 4194304 bytes"},
	}
	for _, test := range tests {
		t.Run(test.test, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			path := w.write(t, "run/containers/auth.json", test.content)
			w.write(t, "home/.docker/config.json", auths("ghcr.example", auth("user", canary)))
			f := w.finder(t)

			login, origin, err := f.Find(t.Context(), "ghcr.example/acme")
			if err != nil || login != basic("user", canary) {
				t.Errorf("with another file: %s, %v", describe(login), err)
			}
			checkWhy(t, origin, "OpenTofu reads none of the files, because it rejects "+path)

			_, _, err = f.Find(t.Context(), "other.example/acme")
			var broken *credentials.FileError
			if !errors.As(err, &broken) || broken.Path != path || broken.Line != test.line || !strings.Contains(err.Error(), test.problem) {
				t.Errorf("alone: %v", err)
			}
			// The paths of test directories contain numbers.
			if text := strings.ReplaceAll(fmt.Sprintf("%v %+v", err, broken), path, ""); strings.Contains(text, canary) || strings.Contains(text, "1234") {
				t.Errorf("error %q contains values", text)
			}
			if p := f.Files()[0]; p.Path != path || !p.Exists || p.Err == nil {
				t.Errorf("the place is %+v", p)
			}
		})
	}
}

func TestUnreadableFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := os.MkdirAll(w.path("home/.docker/config.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	var broken *credentials.FileError
	if _, _, err := w.finder(t).Find(t.Context(), "ghcr.example/acme"); !errors.As(err, &broken) || broken.Path != w.path("home/.docker/config.json") {
		t.Errorf("a directory: %v", err)
	}

	for _, content := range []string{"", " \n", "null"} {
		w := newWorld(t)
		w.write(t, "home/.docker/config.json", content)
		if login, _, err := w.finder(t).Find(t.Context(), "ghcr.example/acme"); err != nil || !login.IsAnonymous() {
			t.Errorf("%q: %s, %v", content, describe(login), err)
		}
	}

	// Services often set HOME=/dev/null.
	w = newWorld(t)
	w.write(t, "home", "")
	w.write(t, "run/containers/auth.json", auths("ghcr.example", auth("user", canary)))
	login, origin, err := w.finder(t).Find(t.Context(), "ghcr.example/acme")
	if err != nil || login.IsAnonymous() || origin.File != w.path("run/containers/auth.json") {
		t.Errorf("no home: %s, %v", describe(login), err)
	}
	if login, _, err := w.finder(t).Find(t.Context(), "other.example/acme"); err != nil || !login.IsAnonymous() {
		t.Errorf("no home, no login: %s, %v", describe(login), err)
	}
}

func TestNamedFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env["REGISTRY_AUTH_FILE"] = "DIR/variable.json"
	w.write(t, "variable.json", auths("ghcr.example", auth("variable", canary)))
	w.write(t, "home/.docker/config.json", auths("ghcr.example/acme", auth("docker", canary)))
	first := w.write(t, "first.json", auths("ghcr.example", auth("first", canary)))
	second := w.write(t, "second.json", auths("ghcr.example", auth("second", canary)))

	w.config.DefaultLogins.DockerFiles = []string{first, second}
	login, origin, err := w.finder(t).Find(t.Context(), "ghcr.example/acme")
	if err != nil || login.Username != "first" || origin.File != first {
		t.Errorf("%s from %s, %v", describe(login), origin, err)
	}
	checkWhy(t, origin, "")

	for _, none := range []cliconfig.DefaultLogins{{DockerFiles: []string{}}, {NoAmbient: true}} {
		w.config.DefaultLogins = none
		f := w.finder(t)
		login, origin, err := f.Find(t.Context(), "ghcr.example/acme")
		if err != nil || !login.IsAnonymous() || origin.Kind != credentials.FromNothing || len(f.Files()) != 0 {
			t.Errorf("%+v: %s from %s, %v", none, describe(login), origin, err)
		}
	}

	// A file that the configuration specifies must exist, even if a block has the
	// credentials.
	w.config.Logins = []cliconfig.Login{{Registry: "ghcr.example", Username: "rule", Password: text.NewSecret(canary)}}
	missing := w.path("missing.json")
	w.config.DefaultLogins = cliconfig.DefaultLogins{DockerFiles: []string{first, missing}}
	f := w.finder(t)
	if _, _, err := f.Find(t.Context(), "ghcr.example/acme"); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), missing) {
		t.Errorf("a missing file: %v", err)
	}
	if p := f.Files()[1]; !errors.Is(p.Err, fs.ErrNotExist) || p.Exists {
		t.Errorf("the place is %+v", p)
	}

	w.config.DefaultLogins.DockerFiles = []string{w.write(t, "empty.json", "")}
	login, origin, err = w.finder(t).Find(t.Context(), "ghcr.example/acme")
	if err != nil || login.Username != "rule" {
		t.Errorf("an empty file: %s, %v", describe(login), err)
	}
	checkWhy(t, origin, "OpenTofu fails")
}
