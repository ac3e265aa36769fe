package logins_test

import (
	"testing"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/logins"
)

func TestLoginReplacesAnAccessToken(t *testing.T) {
	t.Parallel()
	pair := logins.Rule{Registry: "pair.example", AccessToken: logins.NewSecret("access"), RefreshToken: logins.NewSecret("refresh")}
	alone := logins.Rule{Registry: "alone.example", AccessToken: logins.NewSecret("access")}
	w := newWorld(t)
	w.config.Explicit = []logins.Rule{pair, alone}
	f := w.finder(t)
	now := time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC)
	f.SetClock(func() time.Time { return now })

	both := logins.Credential{RegistryToken: pair.AccessToken, IdentityToken: pair.RefreshToken}
	tests := []struct {
		after      time.Duration
		repository string
		want       logins.Credential
	}{
		{0, "pair.example/a", both},
		{59 * time.Second, "pair.example/a", both},
		{time.Second, "pair.example/a", logins.Credential{IdentityToken: pair.RefreshToken}},
		{time.Hour, "pair.example/a", logins.Credential{IdentityToken: pair.RefreshToken}},
		{0, "pair.example/b", both},
		{0, "alone.example/a", logins.Credential{RegistryToken: alone.AccessToken}},
		{time.Hour, "alone.example/a", logins.Credential{RegistryToken: alone.AccessToken}},
	}
	for _, test := range tests {
		now = now.Add(test.after)
		if login, err := f.Login(t.Context(), test.repository); err != nil || login != test.want {
			t.Errorf("%s after %s: %s, %v, want %s", test.repository, test.after, describe(login), err, describe(test.want))
		}
	}

	_, origin, err := f.Find(t.Context(), "pair.example/a")
	if err != nil || origin.Kind != logins.FromBlock || origin.String() != `oci_credentials "pair.example"` {
		t.Errorf("%+v, %v", origin, err)
	}
	checkWhy(t, origin, "")
	_, origin, err = f.Find(t.Context(), "alone.example/a")
	if err != nil {
		t.Error(err)
	}
	checkWhy(t, origin, "access_token and refresh_token together")
}

func TestNoLogin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := w.finder(t)
	login, origin, err := f.Find(t.Context(), "ghcr.example/acme")
	if err != nil || !login.IsAnonymous() || origin != (logins.Origin{OpenTofu: true}) || origin.String() != "no login" {
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

func TestNewChecksTheConfiguration(t *testing.T) {
	t.Parallel()
	secret := logins.NewSecret(canary)
	wrong := map[string]logins.Config{
		"no registry":             {Explicit: []logins.Rule{{Username: "u", Password: secret}}},
		"a path for a registry":   {Explicit: []logins.Rule{{Registry: "ghcr.example/acme", Username: "u", Password: secret}}},
		"no login":                {Explicit: []logins.Rule{{Registry: "ghcr.example"}}},
		"two logins":              {Explicit: []logins.Rule{{Registry: "ghcr.example", Username: "u", Password: secret, AccessToken: secret}}},
		"a login and a helper":    {Explicit: []logins.Rule{{Registry: "ghcr.example", RefreshToken: secret, Helper: "plain"}}},
		"no password":             {Explicit: []logins.Rule{{Registry: "ghcr.example", Username: "u"}}},
		"no username":             {Explicit: []logins.Rule{{Registry: "ghcr.example", Password: secret}}},
		"a helper for a path":     {Explicit: []logins.Rule{{Registry: "ghcr.example", RepositoryPrefix: "acme", Helper: "plain"}}},
		"a helper's path":         {Explicit: []logins.Rule{{Registry: "ghcr.example", Helper: "../plain"}}},
		"a default helper's path": {Default: logins.Default{DefaultHelper: `a\b`}},
		"a line in a helper":      {Default: logins.Default{DefaultHelper: "a\nb"}},
	}
	for test, config := range wrong {
		if _, err := logins.New(config, logins.Environment{}); err == nil {
			t.Errorf("%s is accepted", test)
		}
	}
	rules := []logins.Rule{{Registry: "ghcr.example", Username: "u", Password: secret}}
	f, err := logins.New(logins.Config{Explicit: rules}, logins.Environment{})
	if err != nil {
		t.Fatal(err)
	}
	rules[0].Username = "changed"
	if login, err := f.Login(t.Context(), "ghcr.example/acme"); err != nil || login.Username != "u" {
		t.Errorf("%s, %v", describe(login), err)
	}
}
