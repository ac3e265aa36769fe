package outcome_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/outcome"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/internal/testing/testca"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// secret is the path of the webhooks. No error may contain it.
const secret = "/services/canary-T000/B000?key=canary-XYZ"

// served starts a webhook. It returns the webhook's host and the options that trust it.
func served(t *testing.T, handler http.HandlerFunc) (host string, o outcome.SendOptions) {
	t.Helper()
	ca, err := testca.New()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, ca.PEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	return registrytest.Serve(t, ca, handler), outcome.SendOptions{CAFile: file, UserAgent: "tofu-oci/1.2.3"}
}

func webhook(t *testing.T, url, format string) outcome.Webhook {
	t.Helper()
	w, err := outcome.NewWebhook("HOOK", url, format)
	if err != nil {
		t.Fatal(err)
	}
	return w.WithTimeout(patience.Limit)
}

func TestSend(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]map[string]any{
		outcome.Slack: {"text": "1 created &lt;!channel&gt; &amp;"},
		outcome.JSON:  {"text": "1 created <!channel> &", "summary": map[string]any{"n": 1.0}},
	} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			var got map[string]any
			host, o := served(t, func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err == nil {
					err = json.Unmarshal(body, &got)
				}
				if err != nil || r.Method != http.MethodPost || r.RequestURI != secret || r.Header.Get("Content-Type") != "application/json" || r.UserAgent() != "tofu-oci/1.2.3" {
					t.Errorf("%s %s %v %v", r.Method, r.RequestURI, r.Header, err)
				}
				_, _ = w.Write(make([]byte, 1<<20)) // the client does not read all of this data
			})
			if err := webhook(t, "https://"+host+secret, format).Send(t.Context(), "1 created <!channel> &", map[string]int{"n": 1}, o); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// TestErrors checks that no error contains the URL, and that redirects are not followed.
func TestErrors(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/elsewhere" {
				t.Error("the redirect was followed")
			}
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}, "redirect (status 307)"},
		"a refusal that repeats the URL": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, "invalid_token https://"+r.Host+r.RequestURI+" "+r.URL.Path)
		}, "403 Forbidden: invalid_token ***"},
		"no HTTP": {func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_ = conn.Close()
		}, "server closed the connection"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host, o := served(t, test.handler)
			err := webhook(t, "https://"+host+secret, outcome.Slack).Send(t.Context(), "text", nil, o)
			if err == nil || !strings.HasPrefix(err.Error(), "sending a notification to the URL in HOOK: ") || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "canary") {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Run("an interruption", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		host, o := served(t, func(http.ResponseWriter, *http.Request) { cancel() })
		if err := webhook(t, "https://"+host+secret, outcome.Slack).Send(ctx, "text", nil, o); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("got %v", err)
		}
	})
}

func TestNewErrors(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"":                              "the environment variable HOOK is not set",
		"http://hooks.example/canary":   "does not contain an https:// URL",
		"canary-token":                  "does not contain an https:// URL",
		"https:///canary":               "does not contain an https:// URL",
		"https://h:canary/ \x00%zz":     "does not contain an https:// URL",
		"//hooks.example/canary":        "does not contain an https:// URL",
		"https://:8443/canary?x=canary": "does not contain an https:// URL",
	} {
		_, err := outcome.NewWebhook("HOOK", value, outcome.Slack)
		if err == nil || provider.KindOf(err) != provider.Misuse || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%q: got %v, want %q", value, err, want)
		}
	}
}

// TestLongText checks that long messages are shortened.
func TestLongText(t *testing.T) {
	t.Parallel()
	var length int
	host, o := served(t, func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		length = len(body)
	})
	if err := webhook(t, "https://"+host, outcome.Slack).Send(t.Context(), strings.Repeat("<", 1<<20), nil, o); err != nil || length == 0 || length > 120_000 {
		t.Errorf("%d bytes, %v", length, err)
	}
}
