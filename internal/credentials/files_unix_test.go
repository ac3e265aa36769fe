//go:build unix

package credentials_test

import (
	"fmt"
	"io"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/credentials"
)

// TestPipesAreReadOnce checks that the credentials in a pipe, which shells create for
// <(command), stay in use after the pipe was read.
func TestPipesAreReadOnce(t *testing.T) {
	t.Parallel()
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if _, err := io.WriteString(in, auths("ghcr.example", auth("user", "password"))); err != nil {
		t.Fatal(err)
	}
	_ = in.Close()
	w := newWorld(t)
	w.config.DefaultLogins.DockerFiles = []string{fmt.Sprintf("/dev/fd/%d", out.Fd())}
	synctest.Test(t, func(t *testing.T) {
		r := credentials.New(w.config, w.environment())
		for range 2 {
			if login, err := r.Login(t.Context(), "ghcr.example/acme"); err != nil || login != basic("user", "password") {
				t.Errorf("%s, %v", describe(login), err)
			}
			time.Sleep(time.Hour)
		}
	})
}
