package credentials_test

import (
	"testing"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/credentials"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/text"
)

func TestCredentialsReplaceAccessToken(t *testing.T) {
	t.Parallel()
	pair := cliconfig.Login{Registry: "pair.example", AccessToken: text.NewSecret("access"), RefreshToken: text.NewSecret("refresh")}
	alone := cliconfig.Login{Registry: "alone.example", AccessToken: text.NewSecret("access")}
	w := newWorld(t)
	w.config.Logins = []cliconfig.Login{pair, alone}
	f := w.finder(t)
	now := time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC)
	f.SetClock(func() time.Time { return now })

	both := credentials.Credential{RegistryToken: pair.AccessToken, IdentityToken: pair.RefreshToken}
	tests := []struct {
		after      time.Duration
		repository string
		want       credentials.Credential
	}{
		{0, "pair.example/a", both},
		{59 * time.Second, "pair.example/a", both},
		{time.Second, "pair.example/a", credentials.Credential{IdentityToken: pair.RefreshToken}},
		{time.Hour, "pair.example/a", credentials.Credential{IdentityToken: pair.RefreshToken}},
		{0, "pair.example/b", both},
		{0, "alone.example/a", credentials.Credential{RegistryToken: alone.AccessToken}},
		{time.Hour, "alone.example/a", credentials.Credential{RegistryToken: alone.AccessToken}},
	}
	for _, test := range tests {
		now = now.Add(test.after)
		if login, err := f.Login(t.Context(), test.repository); err != nil || login != test.want {
			t.Errorf("%s after %s: %s, %v, want %s", test.repository, test.after, describe(login), err, describe(test.want))
		}
	}

	_, origin, err := f.Find(t.Context(), "pair.example/a")
	if err != nil || origin.Kind != credentials.FromBlock || origin.String() != `oci_credentials "pair.example"` {
		t.Errorf("%+v, %v", origin, err)
	}
	checkWhy(t, origin, "")
	_, origin, err = f.Find(t.Context(), "alone.example/a")
	if err != nil {
		t.Error(err)
	}
	checkWhy(t, origin, "access_token and refresh_token together")
}

// TestEmptyBlock checks that an oci_credentials block without credentials means
// anonymous access if no other credentials exist. OpenTofu behaves in the same way.
func TestEmptyBlock(t *testing.T) {
	t.Parallel()
	for _, rule := range []cliconfig.Login{
		{Registry: "ghcr.example"},
		{Registry: "ghcr.example", Password: text.NewSecret(canary)}, // OpenTofu requires a user name
	} {
		w := newWorld(t)
		w.config.Logins = []cliconfig.Login{rule}
		login, origin, err := w.finder(t).Find(t.Context(), "ghcr.example/acme")
		if err != nil || !login.IsAnonymous() || origin != (credentials.Origin{OpenTofu: true}) {
			t.Errorf("got %s from %+v, %v; want anonymous access, like OpenTofu", describe(login), origin, err)
		}
	}
}

func TestNoCredentials(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := w.finder(t)
	login, origin, err := f.Find(t.Context(), "ghcr.example/acme")
	if err != nil || !login.IsAnonymous() || origin != (credentials.Origin{OpenTofu: true}) || origin.String() != "no credentials" {
		t.Errorf("%s from %+v, %v", describe(login), origin, err)
	}
	for _, repository := range []string{"", "/acme"} {
		if _, err := f.Login(t.Context(), repository); err == nil {
			t.Errorf("%q is a repository", repository)
		}
		if _, _, err := f.Find(t.Context(), repository); err == nil {
			t.Errorf("%q is a repository", repository)
		}
	}
}
