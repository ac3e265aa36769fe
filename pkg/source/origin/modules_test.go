package origin_test

import (
	"context"
	"errors"
	"io"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
)

// modules returns the source of modules, and the address of acme/vpc/aws.
func (w *world) modules() (*origin.Modules, provider.Address) {
	a := w.address
	a.Namespace, a.Type = "acme", "vpc/aws"
	return origin.NewModules(w.options), a
}

func TestModules(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{Token: "secret"})
	w.options.Token = func(context.Context, svchost.Hostname) (origin.Token, error) {
		return origin.Token{Value: "secret"}, nil
	}
	for _, m := range []origintest.Module{
		{Version: "1.0.0", Location: "git::https://example.org/vpc.git?ref=v1", Discovered: "2026-01-02T03:04:05Z"},
		{Version: "1.1.0", Location: "../../../archive.zip//modules/vpc"},
		{Version: "1.2.0", JSON: map[string]any{"location": "archive", "use_registry_credentials": true}},
		{Version: "1.3.0", Location: "oci://example.org/a", JSON: map[string]any{}},
		{Version: "latest"},
	} {
		m.Name = "acme/vpc/aws"
		w.origin.AddModule(m)
	}
	modules, a := w.modules()
	versions, err := modules.Versions(t.Context(), a)
	if err != nil || len(versions) != 4 {
		t.Fatalf("got %v, %v", versions, err)
	}
	var sources []string
	for _, v := range versions {
		l, err := modules.Location(t.Context(), a, v)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, strings.ReplaceAll(l.Source, w.host(), "HOST"))
	}
	want := []string{
		"oci://example.org/a", "https://HOST/v1/modules/acme/vpc/aws/1.2.0/archive", "https://HOST/v1/modules/acme/archive.zip//modules/vpc",
		"git::https://example.org/vpc.git?ref=v1",
	}
	if diff := cmp.Diff(want, sources); diff != "" {
		t.Error(diff)
	}
	date, err := modules.Capabilities().Date(t.Context(), a, version(t, "1.0.0"))
	if want := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC); err != nil || !date.Equal(want) {
		t.Errorf("got %s, %v", date, err)
	}
	if n := w.origin.Requests()[origintest.ModuleVersions]; n != 1 {
		t.Errorf("%d requests for versions, want 1", n)
	}
}

func TestModulesRefuse(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		module origintest.Module
		fault  origintest.Fault
		want   string
		is     error
	}{
		"no module":        {origintest.Module{Name: "acme/other/aws"}, nil, "module not found", origin.ErrModuleNotFound},
		"no version":       {origintest.Module{Version: "2.0.0"}, nil, "version not found", provider.ErrVersionNotFound},
		"no location":      {origintest.Module{}, nil, "the registry returned no location", nil},
		"plain HTTP":       {origintest.Module{JSON: map[string]any{"location": "http://example.org/a.zip", "use_registry_credentials": true}}, nil, "want https", nil},
		"huge response":    {origintest.Module{JSON: strings.Repeat("a", 1<<17)}, nil, "exceeds 65536 bytes", nil},
		"wrong type":       {origintest.Module{JSON: []any{}}, nil, "invalid JSON response", nil},
		"access denied":    {origintest.Module{}, origintest.Status(403), "403 Forbidden", provider.ErrForbidden},
		"a web page":       {origintest.Module{}, origintest.Document("text/html", "<html>"), "", httpclient.ErrPage},
		"temporary errors": {origintest.Module{}, origintest.Status(503), "503", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, origintest.Options{})
			modules, a := w.modules()
			m := test.module
			if m.Name == "" {
				m.Name = "acme/vpc/aws"
			}
			if m.Version == "" {
				m.Version = "1.0.0"
			}
			w.origin.AddModule(m)
			if test.fault != nil {
				w.origin.Misbehave(origintest.ModuleLocation, test.fault, -1)
			}
			_, err := modules.Versions(t.Context(), a)
			if err == nil {
				_, err = modules.Location(t.Context(), a, version(t, "1.0.0"))
			}
			if err == nil || !strings.Contains(err.Error(), test.want) || test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

// TestModuleArchiveToken checks that other archives don't receive the registry's token.
func TestModuleArchiveToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{Token: "secret"})
	w.options.Token = func(context.Context, svchost.Hostname) (origin.Token, error) {
		return origin.Token{Value: "secret"}, nil
	}
	w.origin.AddModule(origintest.Module{Name: "acme/vpc/aws", Version: "1.0.0", Archive: []byte("zip")})
	modules, a := w.modules()
	l, err := modules.Location(t.Context(), a, version(t, "1.0.0"))
	if err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(l.Source)
	if err != nil {
		t.Fatal(err)
	}
	body, err := modules.OpenArchive(t.Context(), l, at)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if content, err := io.ReadAll(body); string(content) != "zip" || err != nil {
		t.Errorf("got %q, %v", content, err)
	}
	if n := w.origin.Authorized()[origintest.ModuleArchive]; n != 0 {
		t.Error("the archive received the token")
	}
}
