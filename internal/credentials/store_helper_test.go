package credentials_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/credentials"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// helpersThatKeep contains the helpers that support more verbs than "get". Each
// function returns the exit status for a verb and its stdin.
var helpersThatKeep = map[string]func(verb string, stdin []byte) int{
	"keeping": keep,
	"talking": func(verb string, stdin []byte) int {
		if verb != "get" {
			fmt.Println("all is well")
		}
		return keep(verb, stdin)
	},
	"refusing": func(string, []byte) int {
		fmt.Println("store: not implemented")
		return 1
	},
	"complaining": func(_ string, stdin []byte) int {
		fmt.Fprintf(os.Stderr, "+ read %s\n", stdin)
		return 1
	},
	"escaping": func(_ string, stdin []byte) int {
		var given struct{ Secret string }
		if err := json.Unmarshal(stdin, &given); err != nil {
			return 1
		}
		fmt.Printf("cannot keep %s\n", strconv.QuoteToASCII(given.Secret))
		return 1
	},
	"leaking": func(_ string, stdin []byte) int {
		fmt.Printf("cannot keep %s\n", stdin)
		return 1
	},
}

// keep is a correct helper that stores credentials in files.
func keep(verb string, stdin []byte) int {
	var given struct{ ServerURL, Username, Secret string }
	if verb == "store" {
		if err := json.Unmarshal(stdin, &given); err != nil {
			fmt.Println(err)
			return 1
		}
	} else {
		given.ServerURL = strings.TrimSpace(string(stdin))
	}
	path := filepath.Join(filepath.Dir(os.Getenv(logVariable)), "kept-"+base64.URLEncoding.EncodeToString([]byte(given.ServerURL)))
	var err error
	switch verb {
	case "store":
		err = os.WriteFile(path, stdin, 0o600)
	case "erase":
		err = os.Remove(path)
	default:
		data, missing := os.ReadFile(path)
		if missing != nil {
			fmt.Println(errUnknown)
			return 1
		}
		fmt.Printf("%s", data)
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// TestSaveWithHelper checks that docker's helper for the registry stores the
// credentials under both names. An existing entry in the file must be removed, because
// it would take precedence.
func TestSaveWithHelper(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]string{
		"for all":           `{"credsStore": "keeping", "auths": {"HOST": {"auth": "b2xkOm9sZA=="}, "other.example": {"auth": "b2xkOm9sZA=="}}}`,
		"for the registry":  `{"credHelpers": {"HOST": "keeping"}, "credsStore": "refusing"}`,
		"with other output": `{"credsStore": "talking"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, host := newWorld(t), newHost("keep")
			path := w.write(t, "home/.docker/config.json", strings.ReplaceAll(file, "HOST", host))
			k := w.keeper(t)
			target, login := targetOf(t, host), basic("jane", canary)
			kept, err := k.Save(t.Context(), target, login)
			if err != nil {
				t.Fatal(err)
			}
			if kept.File != path || kept.Helper == "" {
				t.Errorf("kept in %+v", kept)
			}
			programs, why, err := k.FoundBy(t.Context(), target, login, kept)
			if diff := cmp.Diff([]string{"tofu-oci", "tofu", "docker", "oras"}, programs); diff != "" || why != nil || err != nil {
				t.Errorf("found by %v %v %v", programs, why, err)
			}
			text := w.read(t, "home/.docker/config.json")
			if strings.Contains(text, `"`+host+`": {"auth"`) || strings.Contains(file, "other.example") && !strings.Contains(text, "other.example") {
				t.Errorf("got file %s", text)
			}
			removed, err := k.Delete(t.Context(), target)
			want := []credentials.Location{{File: path, Helper: kept.Helper, Keys: []string{host, "https://" + host}}}
			if diff := cmp.Diff(want, removed); diff != "" || err != nil {
				t.Errorf("%v\n%s", err, diff)
			}
			if removed, err = k.Delete(t.Context(), target); removed != nil || err != nil {
				t.Errorf("removed again: %v %v", removed, err)
			}
		})
	}
}

// TestSaveWithEmptyHelper checks that credentials are stored in the file if credHelpers
// has an empty name for the registry. In this case, only oras does not find them.
func TestSaveWithEmptyHelper(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		registry, file, helper string
		programs               []string
	}{
		"no helper for it":   {"HOST", `{"credHelpers": {"HOST": ""}, "credsStore": "keeping"}`, "", []string{"tofu-oci", "tofu", "docker"}},
		"no helper at all":   {"HOST", `{"credHelpers": {"HOST": ""}}`, "", []string{"tofu-oci", "tofu", "docker", "oras"}},
		"for another":        {"HOST", `{"credHelpers": {"other.example": ""}, "credsStore": "keeping"}`, "keeping", []string{"tofu-oci", "tofu", "docker", "oras"}},
		"of another key":     {"HOST", `{"credHelpers": {"https://HOST": ""}, "credsStore": "keeping"}`, "keeping", []string{"tofu-oci", "tofu", "docker", "oras"}},
		"under a key of old": {"HOST", `{"credHelpers": {"https://HOST": "keeping"}}`, "keeping", []string{"tofu-oci"}},
		"Docker Hub":         {"docker.io", `{"credHelpers": {"https://index.docker.io/v1/": ""}, "credsStore": "keeping"}`, "", []string{"tofu-oci", "tofu", "docker"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, host := newWorld(t), newHost("beside")
			path := w.write(t, "home/.docker/config.json", strings.ReplaceAll(test.file, "HOST", host))
			k := w.keeper(t)
			target, login := targetOf(t, strings.ReplaceAll(test.registry, "HOST", host)), basic("jane", canary)
			place, err := k.Locate(target)
			if want := (credentials.Location{File: path, Helper: test.helper}); err != nil || !cmp.Equal(want, place) {
				t.Errorf("place %+v, %v, want %+v", place, err, want)
			}
			kept, err := k.Save(t.Context(), target, login)
			if err != nil || kept.Helper != test.helper {
				t.Fatalf("kept in %+v, %v", kept, err)
			}
			programs, _, err := k.FoundBy(t.Context(), target, login, kept)
			if diff := cmp.Diff(test.programs, programs); diff != "" || err != nil {
				t.Errorf("found by (-want +got) %v\n%s", err, diff)
			}
			removed, err := k.Delete(t.Context(), target)
			if len(removed) != 1 || removed[0].Helper != test.helper || err != nil {
				t.Errorf("removed %+v, %v", removed, err)
			}
		})
	}
}

func TestSaveWithFailingHelper(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		path, want string
		missing    bool
	}{
		"refusing": {want: "helper failed: store: not implemented"},
		"leaking":  {want: "exit status 1"},
		"nowhere":  {want: "config.json: program not found in PATH", missing: true},
		"../up":    {want: `invalid credential helper name "../up"`},
		"keeping":  {path: "/acme", want: "support only whole registries"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			before := fmt.Sprintf(`{"credsStore": %q, "auths": {"host.example": {"auth": "b2xkOm9sZA=="}}}`, name)
			w.write(t, "home/.docker/config.json", before)
			_, err := w.keeper(t).Save(t.Context(), targetOf(t, "host.example"+test.path), basic("jane", canary))
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), canary) {
				t.Errorf("got %v", err)
			}
			if e, ok := errors.AsType[*credentials.HelperError](err); ok && (e.Kind() == provider.Denied) != test.missing || !ok && test.missing {
				t.Errorf("missing: %v", err)
			}
			if diff := cmp.Diff(before, w.read(t, "home/.docker/config.json")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestHelperErrorsContainNoSecret covers helpers that print their input as JSON.
func TestHelperErrorsContainNoSecret(t *testing.T) {
	t.Parallel()
	for _, helper := range []string{"leaking", "complaining", "escaping"} {
		for _, password := range []string{canary, `canary-pa"ss\word`, "canary-é<&>", "canary-\tb", `canary-\u0041`} {
			t.Run(helper+" "+password, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.write(t, "home/.docker/config.json", fmt.Sprintf(`{"credsStore": %q}`, helper))
				_, err := w.keeper(t).Save(t.Context(), targetOf(t, "host.example"), basic("jane", password))
				if err == nil || !strings.HasSuffix(err.Error(), "running docker-credential-"+helper+": exit status 1") || strings.Contains(err.Error(), "canary") {
					t.Errorf("got %v", err)
				}
			})
		}
	}
}

// TestDeleteWithFailingHelper checks that all other credentials are removed even if a
// helper fails.
func TestDeleteWithFailingHelper(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.write(t, "home/.docker/config.json", `{"credsStore": "nowhere", "auths": {"host.example": {"auth": "b2xkOm9sZA=="}}}`)
	removed, err := w.keeper(t).Delete(t.Context(), targetOf(t, "host.example"))
	if diff := cmp.Diff([]credentials.Location{{File: path, Keys: []string{"host.example"}}}, removed); diff != "" {
		t.Error(diff)
	}
	if e, ok := errors.AsType[*credentials.HelperError](err); !ok || e.Kind() != provider.Denied {
		t.Errorf("got %v", err)
	}
}
