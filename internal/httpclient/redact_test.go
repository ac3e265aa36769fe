package httpclient_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
)

func TestRedactURL(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"https://u:p@h:1/a%2Fb?sig=x#f": "https://h:1/a%2Fb",
		"https://h/a?":                  "https://h/a",
		"../b?x":                        "../b",
		"https:u:p@h/a":                 "https:***",
		"https://h":                     "https://h",
		"https://h/":                    "https://h/",
	} {
		if got := httpclient.RedactURL(parse(t, in)); got != want {
			t.Errorf("%s: got %s", in, got)
		}
	}
	if got := httpclient.RedactURL(nil); got != "" {
		t.Errorf("got %q for nil", got)
	}
}

const (
	hex48 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822c"
	hex64 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
)

// TestRedactURLHidesTokensInPaths covers signed URLs with tokens in their paths.
// TestLongURLs checks that very long URLs are refused wherever a server can specify them,
// and that messages about them are short.
func TestLongURLs(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a/", 450_000)
	base := parse(t, "https://h.example/x")
	for _, text := range []string{long, "/" + long, "https://h.example/" + long, "https://h.example/x?" + long, "https://" + long, "https://u:" + long + "@h.example/"} {
		if _, err := httpclient.Resolve(base, text); !errors.Is(err, httpclient.ErrLongURL) || len(err.Error()) > 600 {
			t.Errorf("%.30s: got %.1000v", text, err)
		}
		if got := httpclient.RedactText("GET " + text + ": no"); strings.Contains(text, "://") && len(got) > 600 {
			t.Errorf("%.30s: got %.1000s", text, got)
		}
	}
	client, err := httpclient.New(httpclient.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"path": "/" + long, "query": "/?" + long} {
		s := newCanary(t, func() string { return to })
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := httpclient.Do(client, req)
		if err == nil {
			_ = resp.Body.Close()
		}
		if !errors.Is(err, httpclient.ErrLongURL) || len(err.Error()) > 1500 || len(s.got) != 1 {
			t.Errorf("%s: %d requests, got %.2000v", name, len(s.got), err)
		}
	}
	if _, err := httpclient.Resolve(base, "/signed?"+strings.Repeat("a", 8000)); err != nil {
		t.Error(err)
	}
}

func TestRedactURLHidesTokensInPaths(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"/registry/archives/AQAAAABnQ0-x9_kLmNoPqRsTuVw/null_3.2.4.zip":                 "/registry/archives/***/null_3.2.4.zip",
		"/dl/AbCdEf0123456789Token/x":                                                   "/dl/***/x",
		"/dl/" + hex48 + "/x.zip":                                                       "/dl/***/x.zip",
		"/dl/" + strings.ToUpper(hex48):                                                 "/dl/***",
		"/dl/" + hex64:                                                                  "/dl/***",
		"/dl/0a1b2c3d4e5f6a7b/x":                                                        "/dl/***/x",
		"/aB3dE5gH7jK9mN1p/org/repo/1.2.3/x.zip":                                        "/***/org/repo/1.2.3/x.zip",
		"/aB3dE5gH/x":                                                                   "/***/x",
		"/dl/eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJqYW5lIn0.qL3_x-Y/x.zip":                    "/dl/***/x.zip",
		"/dl/token-AbCdEf0123456789/x":                                                  "/dl/***/x",
		"/dl/kLmNoPqRsTuVwXyZ/x":                                                        "/dl/***/x",
		"/v1/object/dmF1bHQ6djM6cWF6d3N4ZWRj%2BcmZ2dGdieWhuYg==":                        "/v1/object/***",
		"/assets/93446099/2f1ab0e4-7c1d-4a52-9a51-1d2a63a1f0bb":                         "/assets/93446099/***",
		"/v2/x/blobs/uploads/6ba7b810-9dad-11d1-80b4-00c04fd430c8":                      "/v2/x/blobs/uploads/***",
		"/v2/x/blobs/upload/3.state":                                                    "/v2/x/blobs/upload/***",
		"/prefix/v2/x/blobs/uploads/state":                                              "/prefix/v2/x/blobs/uploads/***",
		"/v2/x/blobs/AbCdEf0123456789Token":                                             "/v2/x/blobs/***",
		"/sha256/x/y/z/" + hex64:                                                        "/sha256/x/y/z/***",
		"/dl/terraform-provider-AbCdEf0123456789Token_1.2.3_linux_amd64.zip":            "/dl/***",
		"/dl/" + hex48 + "/terraform-provider-null_3.2.4_SHA256SUMS.72D7468F.sig?sig=1": "/dl/***/terraform-provider-null_3.2.4_SHA256SUMS.72D7468F.sig",
	} {
		if got := httpclient.RedactURL(parse(t, "https://h"+in)); got != "https://h"+want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

// TestRedactURLLeavesNames checks that unusual names are kept.
func TestRedactURLLeavesNames(t *testing.T) {
	t.Parallel()
	for _, path := range []string{
		"/v2/acme/terraform-provider-googleworkspace2/manifests/1.2.3",
		"/v2/a1b2c3d4e5f6a7b8c9d0/null/manifests/1.2.3-RC1.x9Y8z7W6v5U4t3S2",
		"/v2/a1b2c3d4e5f6a7b8c9d0/null/tags/list",
		"/v2/x/manifests/sha256-" + hex64 + ".sig",
		"/v2/x/blobs/sha256:" + hex64,
		"/v2/x/referrers/sha256:" + hex64,
		"/v2/x/blobs/uploads/",
		"/v2/_catalog",
		"/docker/registry/v2/blobs/sha256/e3/" + hex64 + "/data",
		"/cache/sha256/" + hex64,
		"/cache/sha256%3A" + hex64,
		"/v1/providers/a-b/googleworkspace2/0.1.0-dev.20240101T120000Z+a1b2c3d4e5f6a7b8c9d0/download/linux/amd64",
		"/opentofu/terraform-provider-null/releases/download/v3.2.4/terraform-provider-null_3.2.4_x_y.zip",
		"/terraform-provider-aws/5.0.0/terraform-provider-aws_5.0.0_linux_amd64.zip",
		"/terraform-provider-null_3.2.4_SHA256SUMS",
		"/terraform-provider-null_3.2.4-beta1_SHA256SUMS.72D7468F.sig",
		"/x/my_type_1.0.0-rc.1_windows_mips64le.zip",
		"/DataDog/terraform-provider-datadog/releases/download/v3.0.0/SHA256SUMS",
		"/Platform-Team-2025/MyRepo2024Provider/v1.2.3/x.zip",
		"/project-123456789012/IPv6-manager/k8s/x86_64/i18n",
		"/.well-known/terraform.json",
		"/v2/123456789012345678901234/x/tags/list",
	} {
		if got := httpclient.RedactURL(parse(t, "https://h"+path)); got != "https://h"+path {
			t.Errorf("%s: got %s", path, got)
		}
	}
}

func TestRedactText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`Get "https://u:p@h/dl/` + hex48 + `?sig=1": no answer`: `Get "https://h/dl/***": no answer`,
		"GET http://h/dl/" + hex48 + "/x: 503":                  "GET http://h/dl/***/x: 503",
		"GET https://h/dl/" + hex48 + ": 503":                   "GET https://h/dl/***: 503",
		"see https://h/x?sig=1, and https://h/.":                "see https://h/x, and https://h/.",
		"at https://u:p/q@r/s@h:1/x, git::https://a%40b/c:p@h":  "at https://h:1/x, git::https://h/",
		"https://h:1/x@1 https://u:p@h/x@2 https://h/x@3":       "https://h:1/x@1 https://h/x@2 https://h/x@3",
		"nothing of the kind, " + hex48:                         "nothing of the kind, " + hex48,
	} {
		if got := httpclient.RedactText(in); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

// TestTokensInPathsAreHidden checks that tokens are hidden in retries, in the final
// error, and in errors about invalid redirects.
func TestTokensInPathsAreHidden(t *testing.T) {
	t.Parallel()
	const token = "canary-AbCdEf0123456789Token"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/first":
			http.Redirect(w, r, "/dl/"+token+"/x.zip?sig=canary", http.StatusFound)
		case r.URL.Path == "/unreadable":
			w.Header().Set("Location", "https://h/%zz/"+token+"?sig=canary")
			w.WriteHeader(http.StatusFound)
		case r.URL.Path == "/relative":
			w.Header().Set("Location", "/%zz/"+token+"?sig=canary")
			w.WriteHeader(http.StatusFound)
		case strings.HasSuffix(r.URL.Path, "/x.zip"):
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(server.Close)
	var log traceLog
	var retries []httpclient.Retry
	client := newClient(t, httpclient.Options{
		Trace: log.trace(), OnRetry: func(r httpclient.Retry) { retries = append(retries, r) },
	})
	_, err := httpclient.Get(t.Context(), client, parse(t, server.URL+"/first"), httpclient.Request{Limit: 1})
	if want := server.URL + "/dl/***/x.zip: 503"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	if len(retries) != httpclient.MaxTries-1 {
		t.Errorf("%d retries", len(retries))
	}
	for _, r := range retries {
		if want := server.URL + "/dl/***/x.zip"; r.URL != want || strings.Contains(r.Cause.Error(), "canary") {
			t.Errorf("a retry of %s for %v, want %s", r.URL, r.Cause, want)
		}
	}
	for _, sent := range log.sent {
		if strings.Contains(sent.URL, "canary") {
			t.Errorf("sent to %s", sent.URL)
		}
	}
	for _, path := range []string{"/unreadable", "/relative"} {
		_, err := httpclient.Get(t.Context(), client, parse(t, server.URL+path), httpclient.Request{Limit: 1})
		if err == nil || strings.Contains(err.Error(), "canary") || !strings.HasSuffix(err.Error(), path+`": response redirects to an invalid URL`) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestRedactErrorKeepsTheError checks that RedactError changes only the message.
func TestRedactErrorKeepsTheError(t *testing.T) {
	t.Parallel()
	inner := errors.New(`reading "https://h/?sig=canary"`)
	err := httpclient.RedactError(&url.Error{Op: "Get", URL: "https://h/", Err: inner})
	if !errors.Is(err, inner) || strings.Contains(err.Error(), "canary") {
		t.Errorf("got %v", err)
	}
}
