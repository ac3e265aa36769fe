package origintest_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

const zipPath = "/files/acme/thing/1.2.3/terraform-provider-thing_1.2.3_plan9_mips.zip"

var plan9 = provider.Platform{OS: "plan9", Arch: "mips"}

func newOrigin(t *testing.T, a origintest.Archive) (*origintest.Origin, *httptest.Server) {
	t.Helper()
	o := origintest.New(origintest.Options{})
	if err := o.Add(t.Context(), origintest.Release{
		Namespace: "acme", Type: "thing", Version: "1.2.3", Protocols: []string{"5.0"},
		Archives: map[provider.Platform]origintest.Archive{plan9: a},
	}); err != nil {
		t.Fatal(err)
	}
	s := httptest.NewTLSServer(o)
	t.Cleanup(s.Close)
	return o, s
}

// fetch returns a response's status, its body, and the error of reading the body.
func fetch(t *testing.T, s *httptest.Server, path string) (int, string, error) {
	t.Helper()
	resp, err := s.Client().Get(s.URL + path)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), err
}

func TestPackageDocument(t *testing.T) {
	t.Parallel()
	_, s := newOrigin(t, origintest.Archive{Bytes: []byte("not a zip")})
	code, body, err := fetch(t, s, "/v1/providers/acme/thing/1.2.3/download/plan9/mips")
	if code != http.StatusOK || err != nil {
		t.Fatal(code, body, err)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	d := digest.FromString("not a zip")
	want := map[string]any{
		"protocols": []any{"5.0"}, "os": "plan9", "arch": "mips", "shasum": d.Encoded(),
		"filename":     "terraform-provider-thing_1.2.3_plan9_mips.zip",
		"download_url": s.URL + zipPath,
		"shasums_url":  s.URL + "/files/acme/thing/1.2.3/terraform-provider-thing_1.2.3_SHA256SUMS",
		"signing_keys": map[string]any{"gpg_public_keys": []any{}},
		"packages": map[string]any{
			"plan9_mips": map[string]any{"hashes": []any{sums.ZH(d)}, "package_size": 9.0},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestArchiveFromDisk(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a.zip")
	if err := os.WriteFile(file, []byte("on disk"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, s := newOrigin(t, origintest.Archive{Path: file})
	if code, body, err := fetch(t, s, zipPath); code != http.StatusOK || body != "on disk" || err != nil {
		t.Error(code, body, err)
	}
	o := origintest.New(origintest.Options{})
	missing := origintest.Archive{Path: file + "x"}
	if err := o.Add(t.Context(), origintest.Release{Archives: map[provider.Platform]origintest.Archive{plan9: missing}}); err == nil {
		t.Error("a file that is not there was added")
	}
}

func TestUnknownReleaseIsNotFound(t *testing.T) {
	t.Parallel()
	_, s := newOrigin(t, origintest.Archive{Bytes: []byte("zip")})
	for _, path := range []string{
		"/v1/providers/acme/other/versions", "/v1/providers/acme/thing/1.2.3/download/plan9/arm",
		"/v1/providers/acme/thing/9.0.0/download/plan9/mips", zipPath + "x", zipPath[:len(zipPath)-19] + "SHA256SUMS.sig",
	} {
		if code, _, err := fetch(t, s, path); code != http.StatusNotFound || err != nil {
			t.Errorf("%s: %d, %v", path, code, err)
		}
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	const honest = "0123456789"
	for name, test := range map[string]struct {
		fault origintest.Fault
		code  int
		body  string
		ends  bool // reading the body fails
	}{
		"status":        {origintest.Status(503), 503, "misbehaving on purpose\n", false},
		"page":          {origintest.HTML("x"), 200, "<!doctype html><html><head><title>x</title></head></html>", false},
		"short":         {origintest.Short(4), 200, "0123", true},
		"flipped":       {origintest.FlipBit(3), 200, "0133456789", false},
		"unsized":       {origintest.Unsized(), 200, honest, false},
		"longer":        {origintest.Longer(), 200, honest + "\x00", false},
		"redirect":      {origintest.Redirect("/.well-known/terraform.json"), 200, `{"modules.v1":"/v1/modules/","providers.v1":"/v1/providers/"}`, false},
		"reset at once": {origintest.Reset(0), 0, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, s := newOrigin(t, origintest.Archive{Bytes: []byte(honest)})
			o.Misbehave(origintest.Zip, test.fault, 1)
			code, body, err := fetch(t, s, zipPath)
			if code != test.code || body != test.body || (err != nil) != test.ends {
				t.Errorf("got %d %q, %v", code, body, err)
			}
			if code, body, err := fetch(t, s, zipPath); code != 200 || body != honest || err != nil {
				t.Errorf("after the fault: %d %q, %v", code, body, err)
			}
			if n := o.Requests()[origintest.Zip]; n != 2 {
				t.Errorf("%d requests were counted", n)
			}
		})
	}
}

func TestResetMidBody(t *testing.T) {
	t.Parallel()
	o, s := newOrigin(t, origintest.Archive{Bytes: []byte(strings.Repeat("x", 1<<20))})
	o.Misbehave(origintest.Zip, origintest.Reset(1<<19), -1)
	_, body, err := fetch(t, s, zipPath)
	if err == nil || errors.Is(err, io.EOF) || len(body) >= 1<<20 {
		t.Errorf("%d bytes, %v", len(body), err)
	}
	o.Behave()
	if code, _, err := fetch(t, s, zipPath); code != 200 || err != nil {
		t.Errorf("taken back: %d, %v", code, err)
	}
}
