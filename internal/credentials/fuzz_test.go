package credentials_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/credentials"
	"github.com/tofu-oci/tofu-oci/internal/text"
)

// FuzzParseDocument checks that parsing never panics, is deterministic, and reveals no
// secrets.
func FuzzParseDocument(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte, legacy bool, repository string) {
		sources, err := credentials.ParseDocument(data, legacy, repository)
		if err != nil {
			var broken *credentials.FileError
			if errors.As(err, &broken) && (broken.Path == "" || broken.Line > 1+strings.Count(string(data), "\n")) {
				t.Errorf("%v, in %d bytes", err, len(data))
			}
			return
		}
		again, err := credentials.ParseDocument(data, legacy, repository)
		if err != nil || len(again) != len(sources) {
			t.Fatalf("%d sources and then %d, %v", len(sources), len(again), err)
		}
		for i, s := range sources {
			if other := again[i]; s.Origin != other.Origin || s.Login != other.Login || s.Depth != other.Depth {
				t.Errorf("read in two ways: %+v and %+v", s, other)
			}
			if s.Origin.Kind == credentials.FromNothing || s.Origin.File == "" || s.Depth == 0 && s.Origin.Section != "credsStore" {
				t.Errorf("%+v is a source", s)
			}
			for _, secret := range []text.Secret{s.Login.Password, s.Login.IdentityToken, s.Login.RegistryToken} {
				checkAbsent(t, s, secret.Reveal())
			}
		}
	})
}

// checkAbsent checks that a source's printed form does not reveal a secret. It allows
// the secret if the source's remaining text contains it.
func checkAbsent(t *testing.T, s credentials.Source, secret string) {
	t.Helper()
	const long = 6
	if len(secret) >= long && !strings.Contains(s.Login.Username, secret) && !strings.Contains(s.Bare, secret) && strings.Contains(s.Text, secret) {
		t.Errorf("%s contains %q", s.Text, secret)
	}
}
