package credentials_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/credentials"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/text"
)

// texts formats a value in all ways in which it can be logged.
func texts(t *testing.T, value any) []string {
	t.Helper()
	var all []string
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%10.3s"} {
		all = append(all, fmt.Sprintf(verb, value))
	}
	data, err := json.Marshal(value)
	if err != nil {
		data, err = json.Marshal(fmt.Sprint(value))
	}
	if err != nil {
		t.Fatal(err)
	}
	var logged bytes.Buffer
	slog.New(slog.NewTextHandler(&logged, nil)).Info("message", "value", value)
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("message", "value", value)
	return append(all, string(data), logged.String())
}

func checkHidden(t *testing.T, value any) {
	t.Helper()
	for _, text := range texts(t, value) {
		for _, form := range []string{canary, fmt.Sprintf("%x", canary), fmt.Sprintf("%X", canary), canary[:3]} {
			if strings.Contains(text, form) {
				t.Errorf("%T contains its secret: %.500s", value, text)
			}
		}
	}
}

// TestSecretsAreHidden prints every type that contains a secret.
func TestSecretsAreHidden(t *testing.T) {
	t.Parallel()
	secret := text.NewSecret(canary)
	everything := credentials.Credential{Username: "user", Password: secret, IdentityToken: secret, RegistryToken: secret}
	rule := cliconfig.Login{Registry: "rule.example", Username: "user", Password: secret}
	tokens := cliconfig.Login{Registry: "tokens.example", AccessToken: secret, RefreshToken: secret}
	w := newWorld(t)
	w.config.Logins = []cliconfig.Login{rule, tokens}
	w.write(t, "home/.docker/config.json", fmt.Sprintf(
		`{"auths": {"file.example": %s, "id.example": {"identitytoken": %q}, "wrong.example": {"auth": %q}}, "credHelpers": {"bad.example": "failing"}, "credsStore": "fresh"}`,
		auth("user", canary), canary, canary))
	f := w.finder(t)

	values := []any{secret, &secret, everything, &everything, []credentials.Credential{everything}, rule, w.config, &w.config, w.environment().OS}
	values = append(values, struct{ unexported text.Secret }{secret}, struct{ unexported *credentials.Credential }{&everything}, map[text.Secret]bool{secret: true})
	for _, host := range []string{"rule", "tokens", "file", "id", "wrong", "bad", "shown"} {
		login, origin, err := f.Find(t.Context(), host+".example/acme")
		values = append(values, login, origin, origin.String(), err)
		if (err == nil) != (host != "wrong" && host != "bad") {
			t.Errorf("%s: %v", host, err)
		}
	}
	values = append(values, f.Files(), f, *w)
	for _, value := range values {
		checkHidden(t, value)
	}

	if secret.Reveal() != canary || secret.IsEmpty() || secret != text.NewSecret(strings.Clone(canary)) {
		t.Error("the secret is lost")
	}
	var none text.Secret
	if none.Reveal() != "" || !none.IsEmpty() || none != text.NewSecret("") || none.String() != "" || fmt.Sprint(none) != "" {
		t.Error("the empty secret is not empty")
	}
	for value, want := range map[any]string{none: `""`, secret: `"***"`} {
		if data, err := json.Marshal(value); err != nil || string(data) != want || fmt.Sprintf("%#v", value) != want || fmt.Sprintf("%q", value) != want {
			t.Errorf("JSON %s, %v, want %s", data, err, want)
		}
	}
}
