package credentials_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/credentials"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/text"
)

func (w *world) keeper(t *testing.T) *credentials.Store {
	t.Helper()
	k, err := credentials.NewStore(w.config, w.environment())
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func (w *world) read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(w.path(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func targetOf(t *testing.T, text string) credentials.Prefix {
	t.Helper()
	target, err := credentials.ParsePrefix(text)
	if err != nil {
		t.Fatal(err)
	}
	return target
}

func TestParseTarget(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"ghcr.io": "ghcr.io", "GHCR.io/acme/providers": "ghcr.io/acme/providers", "localhost:5000": "localhost:5000", "https://ghcr.io/": "ghcr.io",
		"https://europe-west1-docker.pkg.dev": "europe-west1-docker.pkg.dev", "https://index.docker.io/v1/": "docker.io", "docker.io": "docker.io",
		"registry-1.docker.io/acme": "docker.io/acme", "ghcr.io/v1": "ghcr.io/v1", "[::1]:5000": "[::1]:5000",
	} {
		if got, err := credentials.ParsePrefix(text); got.String() != want || err != nil {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"": "missing registry host", "http://localhost:5000": "localhost:5000 --plain-http localhost:5000", "ghcr.io/acme/{type}": "such as ghcr.io/acme",
		"jane:" + canary + "@ghcr.io": "must not contain credentials", "oci-layout:dir": "needs no credentials", "ghcr.io/Acme": "upper-case", "ghcr.io/acme:1.2": "omit the tag", "ghcr.io//x": "consecutive slashes",
	} {
		if _, err := credentials.ParsePrefix(text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestSave stores credentials in files in various states and finds the credentials
// again.
func TestSave(t *testing.T) {
	t.Parallel()
	all := []string{"tofu-oci", "tofu", "docker", "oras"}
	for name, test := range map[string]struct {
		target, before, want string
		finds                []string
	}{
		"no file":    {"host.example", "", "{\n\t\"auths\": {\n\t\t\"host.example\": {\n\t\t\t\"auth\": \"amFuZTpjYW5hcnktNWVjcmV0\"\n\t\t}\n\t}\n}\n", all},
		"empty file": {"host.example", " \n", "{\n\t\"auths\": {\n\t\t\"host.example\": {\n\t\t\t\"auth\": \"amFuZTpjYW5hcnktNWVjcmV0\"\n\t\t}\n\t}\n}\n", all},
		"others stay": {
			"host.example", `{"psFormat": "table {{.ID}}",  "auths": {"other": {"auth": "YTpi", "email": "x"}}, "HttpHeaders": {"A": "\u003c"}}`,
			`{"psFormat": "table {{.ID}}",  "auths": {"other": {"auth": "YTpi", "email": "x"},"host.example":{"auth":"amFuZTpjYW5hcnktNWVjcmV0"}}, "HttpHeaders": {"A": "\u003c"}}`, all,
		},
		"an older login": {
			"host.example", `{"auths": {"host.example": {"auth": "YTpi", "identitytoken": "old"}}}`,
			`{"auths": {"host.example": {"auth":"amFuZTpjYW5hcnktNWVjcmV0"}}}`, all,
		},
		"Auths": {"host.example", `{"Auths": {}}`, `{"Auths": {"host.example":{"auth":"amFuZTpjYW5hcnktNWVjcmV0"}}}`, all},
		"a part": {
			"host.example/acme", `{"auths": {"host.example": {"auth": "YTpi"}}}`,
			`{"auths": {"host.example": {"auth": "YTpi"},"host.example/acme":{"auth":"amFuZTpjYW5hcnktNWVjcmV0"}}}`, all[:2],
		},
		"Docker Hub": {
			"docker.io", `{"auths":{}}`,
			"{\"auths\":{\"https://index.docker.io/v1/\":{\"auth\":\"amFuZTpjYW5hcnktNWVjcmV0\"},\"registry-1.docker.io\":{\"auth\":\"amFuZTpjYW5hcnktNWVjcmV0\"}}}", all,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if test.before != "" {
				w.write(t, "home/.docker/config.json", test.before)
			}
			k, target, login := w.keeper(t), targetOf(t, test.target), basic("jane", canary)
			kept, err := k.Save(t.Context(), target, login)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, w.read(t, "home/.docker/config.json")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			programs, why, err := k.FoundBy(t.Context(), target, login, kept)
			if diff := cmp.Diff(test.finds, programs); diff != "" || why != nil || err != nil {
				t.Errorf("found by %v, %v, %v", programs, why, err)
			}
			removed, err := k.Delete(t.Context(), target)
			if diff := cmp.Diff([]credentials.Location{kept}, removed); diff != "" || err != nil {
				t.Errorf("%v\n%s", err, diff)
			}
			if strings.Contains(w.read(t, "home/.docker/config.json"), "amFuZTpj") {
				t.Error("the login is still there")
			}
		})
	}
}

// TestSaveConcurrently checks that no credentials are lost if many credentials are
// stored concurrently.
func TestSaveConcurrently(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const many = 16
	var wait sync.WaitGroup
	for i := range many {
		k, target := w.keeper(t), targetOf(t, fmt.Sprintf("host-%d.example", i))
		wait.Go(func() {
			if _, err := k.Save(t.Context(), target, basic("jane", canary)); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if n := strings.Count(w.read(t, "home/.docker/config.json"), `"auth":`); n != many {
		t.Errorf("%d logins, want %d", n, many)
	}
}

// TestSaveLocations checks the locations that the environment and the configuration
// select. It also checks which programs find the credentials.
func TestSaveLocations(t *testing.T) {
	t.Parallel()
	podman := auths("host.example", auth("joe", "other"))
	for name, test := range map[string]struct {
		files  map[string]string
		env    map[string]string
		config cliconfig.Config
		want   string
		finds  []string
		why    string
	}{
		"DOCKER_CONFIG": {
			env: map[string]string{"DOCKER_CONFIG": "DIR/ci"}, want: "ci/config.json", finds: []string{"tofu-oci", "docker", "oras"},
			why: "OpenTofu does not read $DOCKER_CONFIG",
		},
		"another login of Podman": {
			files: map[string]string{"run/containers/auth.json": podman}, want: "home/.docker/config.json", finds: []string{"docker", "oras"},
			why: "for host.example, tofu-oci and tofu use the credentials from auths of ",
		},
		"a block": {
			config: cliconfig.Config{Logins: []cliconfig.Login{{Registry: "host.example", Username: "joe", Password: text.NewSecret("other")}}},
			want:   "home/.docker/config.json", finds: []string{"docker", "oras"}, why: `from oci_credentials "host.example"`,
		},
		"files that are named": {
			files:  map[string]string{"named.json": "{}"},
			config: cliconfig.Config{DefaultLogins: cliconfig.DefaultLogins{DockerFiles: []string{"named.json"}}}, want: "named.json", finds: []string{"tofu-oci", "tofu"},
		},
		"Docker's among them": {
			files:  map[string]string{"named.json": "{}", "home/.docker/config.json": ""},
			config: cliconfig.Config{DefaultLogins: cliconfig.DefaultLogins{DockerFiles: []string{"named.json", "home/.docker/config.json"}}}, want: "home/.docker/config.json",
			finds: []string{"tofu-oci", "tofu", "docker", "oras"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for name, text := range test.files {
				w.write(t, name, text)
			}
			maps.Copy(w.env, test.env)
			w.config = test.config
			for i, path := range w.config.DefaultLogins.DockerFiles {
				w.config.DefaultLogins.DockerFiles[i] = w.path(path)
			}
			k, target, login := w.keeper(t), targetOf(t, "host.example"), basic("jane", canary)
			kept, err := k.Save(t.Context(), target, login)
			if err != nil || kept.File != w.path(test.want) {
				t.Fatalf("kept in %s, %v", kept, err)
			}
			programs, why, err := k.FoundBy(t.Context(), target, login, kept)
			if diff := cmp.Diff(test.finds, programs); diff != "" || err != nil || (len(why) > 0) != (test.why != "") || !strings.Contains(strings.Join(why, "\n"), test.why) {
				t.Errorf("found by %v, %q, %v", programs, why, err)
			}
			if removed, err := k.Delete(t.Context(), target); len(removed) != 1 || err != nil {
				t.Errorf("removed %v, %v", removed, err)
			}
		})
	}
}

// TestDelete removes credentials in all spellings from all files. It checks that
// credentials for parts of the registry remain.
func TestDelete(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env["DOCKER_CONFIG"] = "DIR/ci"
	entry := auth("jane", canary)
	ci := w.write(t, "ci/config.json", `{"auths": {"https://host.example/v2/": `+entry+`, "host.example/acme": `+entry+`, "host.example": {}}}`)
	home := w.write(t, "home/.docker/config.json", auths("host.example", entry))
	k, target := w.keeper(t), targetOf(t, "host.example")
	removed, err := k.Delete(t.Context(), target)
	want := []credentials.Location{{File: ci, Keys: []string{"https://host.example/v2/"}}, {File: home, Keys: []string{"host.example"}}}
	if diff := cmp.Diff(want, removed); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	w.write(t, "run/containers/auth.json", auths("host.example", entry))
	left, err := k.Remaining(t.Context(), target)
	if len(left) != 2 || err != nil || !strings.Contains(left[0], "credentials for host.example/acme still exist") || !strings.Contains(left[1], "in auths of "+w.path("run/containers/auth.json")) {
		t.Errorf("left are %q, %v", left, err)
	}
	removed, err = k.Delete(t.Context(), targetOf(t, "host.example/acme"))
	if diff := cmp.Diff([]credentials.Location{{File: ci, Keys: []string{"host.example/acme"}}}, removed); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if _, err := os.Stat(w.path("home/.docker/.tofu-oci.lock")); err != nil {
		t.Error(err)
	}
}

// TestSaveToInvalidFile checks that an invalid file remains unchanged, and that no
// message contains the file's content.
func TestSaveToInvalidFile(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"cut": `{"auths": {"host.example": {"auth": "` + canary, "a list": `["` + canary + `"]`, "auths of another kind": `{"auths": ["` + canary + `"]}`,
		"auths twice": `{"auths": {}, "auths": {"` + canary + `": {}}}`, "two spellings": `{"auths": {}, "Auths": {}}`, "a null": `{"auths": {"host.example": {}, "host.example": null}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			path := w.write(t, "home/.docker/config.json", text)
			_, err := w.keeper(t).Save(t.Context(), targetOf(t, "host.example"), basic("jane", canary))
			broken, ok := errors.AsType[*credentials.FileError](err)
			if !ok || broken.Path != path || strings.Contains(err.Error(), canary) {
				t.Errorf("got %v", err)
			}
			if got := w.read(t, "home/.docker/config.json"); got != text {
				t.Errorf("the file is now %s", got)
			}
		})
	}
	w := newWorld(t)
	if _, err := w.keeper(t).Save(t.Context(), targetOf(t, "host.example"), basic("jane:doe", canary)); err == nil {
		t.Error("a user name with a colon is taken")
	}
	for _, none := range []cliconfig.DefaultLogins{{NoAmbient: true}, {DockerFiles: []string{}}} {
		w.config.DefaultLogins = none
		if _, err := w.keeper(t).Save(t.Context(), targetOf(t, "host.example"), basic("jane", canary)); !errors.Is(err, credentials.ErrNoFiles) {
			t.Errorf("%+v: %v", none, err)
		}
	}
	if _, err := credentials.NewStore(cliconfig.Config{}, credentials.Environment{OS: "linux", Getenv: func(string) string { return "" }}); err == nil {
		t.Error("a location was found without a home directory")
	}
}
