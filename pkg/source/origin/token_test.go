package origin_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
)

func TestTokenFromEnv(t *testing.T) {
	t.Parallel()
	token := origin.TokenFromEnv([]string{
		"TF_TOKEN_app_example_io=underscores",
		"TF_TOKEN_my__registry.example.io=hyphen",
		"TF_TOKEN_xn____caf__dma_fr=punycode",
		"TF_TOKEN_bücher.example=unicode",
		"TF_TOKEN_UPPER_example_io=case",
		"TF_TOKEN_twice_example_io=first",
		"TF_TOKEN_twice.example.io=last=whole",
		"TF_TOKEN_=invalid",
		"TF_TOKEN_..=invalid",
		"tf_token_small_example_io=ignored",
		"PATH",
	})
	for host, want := range map[svchost.Hostname]string{
		"app.example.io":         "underscores",
		"my-registry.example.io": "hyphen",
		"xn--caf-dma.fr":         "punycode",
		"xn--bcher-kva.example":  "unicode",
		"upper.example.io":       "case",
		"twice.example.io":       "last=whole",
		"small.example.io":       "",
		"app.example.io:8443":    "",
		"other.example.io":       "",
	} {
		if got := token(host); got != want {
			t.Errorf("%s: got %q, want %q", host, got, want)
		}
	}
}

func TestRegistryNeedsAToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{Token: "t0ken"})
	_, err := w.source().Versions(t.Context(), w.address)
	if !errors.Is(err, provider.ErrForbidden) {
		t.Errorf("without a token: %v", err)
	}
	w.options.Token = func(_ context.Context, h svchost.Hostname) (origin.Token, error) {
		if h == w.address.Host {
			return origin.Token{Value: "t0ken"}, nil
		}
		return origin.Token{Value: "another host's"}, nil
	}
	if _, err := w.read(t); err != nil {
		t.Errorf("with the token: %v", err)
	}
}

// TestRegistryWithoutItsToken checks that no request is made if looking up the token
// fails.
func TestRegistryWithoutItsToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	locked := errors.New("the vault is locked")
	w.options.Token = func(context.Context, svchost.Hostname) (origin.Token, error) { return origin.Token{}, locked }
	if _, err := w.source().Versions(t.Context(), w.address); !errors.Is(err, locked) {
		t.Error(err)
	}
	if n := w.origin.Requests(); len(n) != 0 {
		t.Errorf("unexpected requests: %v", n)
	}
}

// TestRegistryTokenStaysWithTheRegistry checks that files on a different host are
// requested without Authorization. The different host comes from a URL or a redirect.
func TestRegistryTokenStaysWithTheRegistry(t *testing.T) {
	t.Parallel()
	for name, redirected := range map[string]bool{"by URL": false, "by redirect": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, origintest.Options{})
			arrived, bore := 0, 0
			canary := serve(t, w.ca, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				arrived++
				if r.Header.Get("Authorization") != "" {
					bore++
				}
				w.origin.ServeHTTP(rw, r)
			}))
			r := w.release()
			// Use one platform, because the canary counts requests.
			delete(r.Archives, plan9)
			if redirected {
				const files = "/files/acme/thing/1.2.3/terraform-provider-thing_1.2.3_"
				w.origin.Misbehave(origintest.Zip, origintest.Redirect(canary.URL+files+"haiku_riscv64.zip"), 1)
				w.origin.Misbehave(origintest.Sums, origintest.Redirect(canary.URL+files+"SHA256SUMS"), 1)
				w.origin.Misbehave(origintest.Versions, origintest.Redirect(canary.URL+"/v1/providers/acme/thing/versions"), 1)
			} else {
				r.Edit = func(_ provider.Platform, doc map[string]any) {
					for _, field := range []string{"download_url", "shasums_url", "shasums_signature_url"} {
						doc[field] = canary.URL + doc[field].(string)[len(w.server.URL):]
					}
				}
			}
			w.add(t, r)
			w.options.Token = func(context.Context, svchost.Hostname) (origin.Token, error) {
				return origin.Token{Value: "t0ken"}, nil
			}
			if _, err := w.read(t); err != nil {
				t.Fatal(err)
			}
			if arrived != 3 || bore != 0 {
				t.Errorf("%d of %d requests on another host bore a token", bore, arrived)
			}
			for kind, want := range map[origintest.Kind]int{
				origintest.Discovery: 1, origintest.Versions: 1, origintest.Package: 1,
				origintest.Sums: 0, origintest.Signature: 0, origintest.Zip: 0,
			} {
				if got := w.origin.Authorized()[kind]; got != want {
					t.Errorf("%s: %d requests bore a token, want %d", kind, got, want)
				}
			}
		})
	}
}

func TestRegistryTokenIsSentToService(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{Token: "t0ken"})
	discovery := http.NewServeMux()
	discovery.HandleFunc("/.well-known/terraform.json", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		_, _ = rw.Write([]byte(`{"providers.v1":"` + w.server.URL + `/v1/providers/"}`))
	})
	front := serve(t, w.ca, discovery)
	hosts := []svchost.Hostname{}
	w.address = address(t, front.URL[len("https://"):]+"/acme/thing")
	w.options.Token = func(_ context.Context, h svchost.Hostname) (origin.Token, error) {
		hosts = append(hosts, h)
		return origin.Token{Value: "t0ken"}, nil
	}
	if _, err := w.read(t); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]svchost.Hostname{w.address.Host}, hosts); diff != "" {
		t.Error(diff)
	}
}
