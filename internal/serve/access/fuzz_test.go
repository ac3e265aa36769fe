package access_test

import (
	"errors"
	"testing"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/serve/access"
	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// FuzzParse checks that parsing never panics, and that each error has a position. It
// also checks that no file grants access to callers with an invalid token.
func FuzzParse(f *testing.F) {
	f.Fuzz(func(t *testing.T, text []byte) {
		rules, err := access.Parse("f", text, access.Options{})
		if err != nil {
			e, ok := errors.AsType[*stricthcl.Error](err)
			if !ok || e.File != "f" || e.Line < 1 || e.Column < 1 || e.Problem == "" {
				t.Errorf("%T %v", err, err)
			}
			return
		}
		none, err := rules.Identify(t.Context(), "")
		if err != nil && !errors.Is(err, access.ErrNoToken) || none.Name != "" {
			t.Errorf("without a token: %+v, %v", none, err)
		}
		if _, err := rules.Identify(t.Context(), "no token of any file"); rules.AllowAll() || !errors.Is(err, access.ErrInvalidToken) {
			t.Errorf("open: %t, with a wrong token: %v", rules.AllowAll(), err)
		}
		for _, h := range rules.Hosts {
			if h.Name == "" || h.As == "" || h.Repository.String() == "" {
				t.Errorf("incomplete host: %+v", h)
			}
		}
	})
}

// FuzzArchiveToken checks that only the issued token is accepted, and that it is
// accepted only for its archive.
func FuzzArchiveToken(f *testing.F) {
	f.Fuzz(func(t *testing.T, text, filename, name string) {
		key, a := access.NewArchiveKey(), rocket(t)
		if got, err := key.Check(text, a); got.Name != "" || got.MayRead(provider.Address{}) || !errors.Is(err, access.ErrInvalidToken) {
			t.Errorf("%q is accepted: %q, %v", text, got.Name, err)
		}
		a.Filename = filename
		token := key.Token(a, access.Caller{Name: name}, time.Now().Add(time.Hour))
		if !segment.MatchString(token) {
			t.Errorf("%q is not a path element of at most 200 characters", token)
		}
		if got, err := key.Check(token, a); got.Name != name[:min(len(name), 96)] || err != nil {
			t.Errorf("got %q, %v", got.Name, err)
		}
		if text != token {
			if _, err := key.Check(token+text, a); err == nil && text != "" {
				t.Errorf("token followed by %q is accepted", text)
			}
		}
		a.Address = nouns.Address(t, "acme/other")
		if _, err := key.Check(token, a); err == nil {
			t.Error("accepted for another archive")
		}
	})
}
