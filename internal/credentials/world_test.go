package credentials_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/credentials"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/text"
)

// world is a user's home directory and environment on an operating system.
type world struct {
	dir string
	os  string
	// env contains the environment variables. In values, DIR is replaced with the
	// directory.
	env    map[string]string
	config cliconfig.Config
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return &world{dir: t.TempDir(), os: "linux", env: map[string]string{"XDG_RUNTIME_DIR": "DIR/run"}}
}

func (w *world) path(name string) string { return filepath.Join(w.dir, filepath.FromSlash(name)) }

// write creates a file and returns its path.
func (w *world) write(t *testing.T, name, content string) string {
	t.Helper()
	path := w.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func (w *world) environment() credentials.Environment {
	return credentials.Environment{
		OS:   w.os,
		Home: w.path("home"),
		UID:  1000,
		Getenv: func(name string) string {
			if path, isHere := strings.CutPrefix(w.env[name], "DIR"); isHere {
				return w.path(path)
			}
			return w.env[name]
		},
	}.WithTimeouts(patience.Limit)
}

func (w *world) finder(t *testing.T) *credentials.Resolver {
	t.Helper()
	r, now := credentials.New(w.config, w.environment()), time.Now()
	r.SetClock(func() time.Time { return now }) // cached responses never expire
	return r
}

// auth returns an entry of auths.
func auth(username, password string) string {
	return fmt.Sprintf(`{"auth": %q}`, base64.StdEncoding.EncodeToString([]byte(username+":"+password)))
}

// auths returns a file with one entry.
func auths(key, entry string) string { return fmt.Sprintf(`{"auths": {%q: %s}}`, key, entry) }

// basic returns the credentials of [auth].
func basic(username, password string) credentials.Credential {
	return credentials.Credential{Username: username, Password: text.NewSecret(password)}
}

// describe formats credentials including their secrets, which are normally hidden.
func describe(c credentials.Credential) string {
	return fmt.Sprintf("%q %q identity %q registry %q", c.Username, c.Password.Reveal(), c.IdentityToken.Reveal(), c.RegistryToken.Reveal())
}

// checkWhy checks that origin.Why contains want. If want is "", OpenTofu must find the
// credentials.
func checkWhy(t *testing.T, origin credentials.Origin, want string) {
	t.Helper()
	if origin.OpenTofu != (want == "") || origin.OpenTofu != (origin.Why == "") || !strings.Contains(origin.Why, want) {
		t.Errorf("OpenTofu %t, because %q, want %q", origin.OpenTofu, origin.Why, want)
	}
}
