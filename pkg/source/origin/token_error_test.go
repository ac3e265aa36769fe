package origin_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
)

// TestNoTokenForFiles checks that errors from requests for checksums and archives mention
// no token, because no token is sent, whether it is configured or not.
func TestNoTokenForFiles(t *testing.T) {
	t.Parallel()
	for _, kind := range []origintest.Kind{origintest.Sums, origintest.Zip} {
		for _, token := range []string{"", "canary"} {
			w := newWorld(t, origintest.Options{})
			w.origin.Misbehave(kind, origintest.Status(401), -1)
			w.options.Token = func(context.Context, svchost.Hostname) (origin.Token, error) { return origin.Token{Value: token}, nil }
			src := w.source()
			r, err := src.Release(t.Context(), w.address, version(t, "1.2.3"))
			if kind == origintest.Zip && err == nil {
				_, _, err = src.Open(t.Context(), r.Packages[0])
			}
			if !errors.Is(err, provider.ErrForbidden) || errors.Is(err, origin.ErrToken) || errors.Is(err, origin.ErrNoToken) {
				t.Errorf("%s with the token %q: %v", kind, token, err)
			}
		}
	}
}

// TestRegistryRefusesAToken checks that the errors of all requests mention the source
// of the token. Errors of requests without a token do not mention a token.
func TestRegistryRefusesAToken(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]origintest.Kind{"discovery": origintest.Discovery, "versions": origintest.Versions, "package": origintest.Package} {
		for _, token := range []string{"", "canary"} {
			t.Run(name+" "+token, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, origintest.Options{})
				w.origin.Misbehave(kind, origintest.Status(403), -1)
				w.options.Token = func(context.Context, svchost.Hostname) (origin.Token, error) {
					return origin.Token{Value: token, From: "the vault"}, nil
				}
				_, err := w.source().Release(t.Context(), w.address, version(t, "1.2.3"))
				if refused := errors.Is(err, origin.ErrToken); refused != (token != "") || errors.Is(err, origin.ErrNoToken) == refused || refused && !strings.Contains(err.Error(), "the vault") || !errors.Is(err, provider.ErrForbidden) {
					t.Error(err)
				}
			})
		}
	}
}
