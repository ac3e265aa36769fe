package main_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
)

// TestTokenServiceAtAPrivateAddress checks that the hint contains the flag that allows sending
// credentials to the token service.
func TestTokenServiceAtAPrivateAddress(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	const from = "registry.example.com/acme/{type}"
	w := newProxied(t, "registry.example.com")
	w.registry.Misbehave(registrytest.Tags, origintest.Status(http.StatusUnauthorized,
		"Www-Authenticate", `Bearer realm="https://10.0.0.7:8443/jwt/auth",service="test"`), -1)

	code, stdout, stderr := w.run(t, "list", "hashicorp/null", "--from", from)
	if code != 1 || stdout != "" || !strings.Contains(stderr, "refers to token service 10.0.0.7, which has a private address") ||
		!strings.Contains(stderr, "\nhint: use --token-realm 10.0.0.7 only if ") || !strings.Contains(stderr, " 10.0.0.7 is the token service of your registry") {
		t.Errorf("exit code %d, %s\n%s", code, stdout, stderr)
	}

	// The connection fails, because the token service has no valid certificate.
	for _, realm := range []string{"10.0.0.7", "10.0.0.7:8443"} {
		code, _, stderr = w.run(t, "list", "hashicorp/null", "--from", from, "--token-realm", realm)
		if code != 1 || !strings.Contains(stderr, "requesting a token from 10.0.0.7:8443: ") || strings.Contains(stderr, "private address") {
			t.Errorf("%s: exit code %d\n%s", realm, code, stderr)
		}
	}
	for _, realm := range []string{"https://10.0.0.7", "10.0.0.7/jwt", "me@10.0.0.7", ":8443", ""} {
		code, _, stderr = w.run(t, "list", "hashicorp/null", "--from", from, "--token-realm", realm)
		if code != 2 || !strings.Contains(stderr, fmt.Sprintf("invalid --token-realm %q: want a host", realm)) {
			t.Errorf("%q: exit code %d\n%s", realm, code, stderr)
		}
	}
}

// TestTokenServiceNamedWithoutTLS checks that a realm received over plain HTTP is not trusted.
func TestTokenServiceNamedWithoutTLS(t *testing.T) {
	t.Parallel()
	w := newProxied(t, "registry.example.com")
	registry := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Www-Authenticate", `Bearer realm="http://192.0.2.1/token",service="test"`)
		rw.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(registry.Close)
	host := strings.TrimPrefix(registry.URL, "http://")
	if err := os.WriteFile(filepath.Join(w.dir, "config.json"), []byte(`{"auths": {"`+host+`": {"auth": "amFuZTpjYW5hcnktcGFzc3dvcmQ="}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := w.run(t, "list", "hashicorp/null", "--from", host+"/acme/{type}", "--plain-http", host)
	if code != 1 || stdout != "" || !strings.Contains(stderr, "refers to token service 192.0.2.1 on another host") ||
		!strings.Contains(stderr, "\nhint: set up TLS for the registry and omit --plain-http") || strings.Contains(stderr, "retrying") {
		t.Errorf("exit code %d, %s\n%s", code, stdout, stderr)
	}
}
