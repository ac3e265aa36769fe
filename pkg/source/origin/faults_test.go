package origin_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// TestRegistryMissingContent checks the messages for content that the origin
// registry does not have.
func TestRegistryMissingContent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	w.add(t, origintest.Release{Version: "0.0.1"}) // this version has no platforms
	w.add(t, origintest.Release{Version: "0.0.2"})
	for name, test := range map[string]struct {
		address, version string
		only             []provider.Platform
		is               error
		want             string
	}{
		"provider": {"acme/nothing", "1.2.3", nil, provider.ErrProviderNotFound,
			`listing versions of HOST/acme/nothing: provider not found: GET https://HOST/v1/providers/acme/nothing/versions: 404 Not Found: {"errors":["Not Found"]}`},
		"version": {"acme/thing", "9.9.9", nil, provider.ErrVersionNotFound,
			"version not found: HOST/acme/thing 9.9.9; newest of 7 versions: 1.10.0-beta1, 1.2.3, 1.2.0, 1.0.0, 0.1.0"},
		"platform": {"acme/thing", "1.2.3", []provider.Platform{haiku, {OS: "amiga", Arch: "m68k"}}, nil,
			"HOST/acme/thing 1.2.3 has no package for amiga_m68k, only for haiku_riscv64, plan9_mips"},
		"any platform":             {"acme/thing", "0.0.1", nil, nil, "HOST/acme/thing 0.0.1 lists no platforms"},
		"any platform, one chosen": {"acme/thing", "0.0.1", []provider.Platform{haiku}, nil, "HOST/acme/thing 0.0.1 has no package for haiku_riscv64 and lists no platforms"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := w.source().Release(t.Context(), address(t, w.host()+"/"+test.address), version(t, test.version), test.only...)
			if diff := cmp.Diff(test.want, w.text(err)); diff != "" {
				t.Error(diff)
			}
			var missing *provider.PlatformError
			if test.is == nil && !errors.As(err, &missing) || test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("not the kind of error: %v", err)
			}
		})
	}
}

// TestRegistryFaultMessages checks the messages for faulty origin registries.
func TestRegistryFaultMessages(t *testing.T) {
	t.Parallel()
	const list = "listing versions of HOST/acme/thing: "
	const find = list + "finding the provider registry of HOST: "
	const about = "describing HOST/acme/thing 1.2.3: "
	const check = "fetching checksums of HOST/acme/thing 1.2.3: "
	const zip = "opening terraform-provider-thing_1.2.3_haiku_riscv64.zip: "
	const files = "GET https://HOST/files/acme/thing/1.2.3/terraform-provider-thing_1.2.3_"
	const wellKnown = "GET https://HOST/.well-known/terraform.json: "
	const versions = "GET https://HOST/v1/providers/acme/thing/versions: "
	const oops = ": misbehaving on purpose"
	tests := map[string]struct {
		kind  origintest.Kind
		fault origintest.Fault
		is    error
		want  string
	}{
		"no discovery": {origintest.Discovery, origintest.Status(404), origin.ErrNoRegistry,
			find + "the host has no registry of this type: " + wellKnown + "404 Not Found" + oops},
		"no such service": {origintest.Discovery, origintest.Document("application/json", `{"modules.v1":"/m/"}`), origin.ErrNoRegistry,
			find + `the host has no registry of this type: the discovery document has no "providers.v1"`},
		"service is a number": {origintest.Discovery, origintest.Document("application/json", `{"providers.v1":7}`), nil,
			find + wellKnown + `"providers.v1" is not a string`},
		"service without TLS": {origintest.Discovery, origintest.Document("application/json", `{"providers.v1":"http://127.0.0.1/v1/?k=secret"}`), nil,
			find + "invalid URL http://127.0.0.1/v1/: want https"},
		"discovery is a page": {origintest.Discovery, origintest.HTML("Welcome"), nil,
			find + wellKnown + `unexpected content type "text/html; charset=utf-8", want application/json: an HTML page titled "Welcome"`},
		"discovery is too large": {origintest.Discovery, origintest.Oversized(2 << 20), nil,
			find + wellKnown + "response exceeds 1048576 bytes"},
		"discovery denied": {origintest.Discovery, origintest.Status(401), provider.ErrForbidden,
			find + wellKnown + "401 Unauthorized" + oops},
		"versions denied": {origintest.Versions, origintest.Status(403), provider.ErrForbidden,
			list + versions + "403 Forbidden" + oops},
		"versions are a page": {origintest.Versions, origintest.HTML("Sign in"), nil,
			list + versions + `expected a registry response, got an HTML page titled "Sign in"`},
		"server error": {origintest.Versions, origintest.Status(500), nil,
			list + versions + "500 Internal Server Error after 3 tries" + oops},
		"throttled for long": {origintest.Package, origintest.Status(429, "Retry-After", "3600"), nil,
			about + "GET https://HOST/v1/providers/acme/thing/1.2.3/download/haiku/riscv64: 429 Too Many Requests (Retry-After: 3600s)" + oops},
		"package is listed, not there": {origintest.Package, origintest.Status(404), nil,
			about + "no package for haiku_riscv64, only for plan9_mips, although the release lists haiku_riscv64: GET https://HOST/v1/providers/acme/thing/1.2.3/download/haiku/riscv64: 404 Not Found" + oops},
		"sums missing": {origintest.Sums, origintest.Status(404), nil,
			check + files + "SHA256SUMS: 404 Not Found" + oops},
		"signature missing": {origintest.Signature, origintest.Status(404), nil,
			check + "signature: " + files + "SHA256SUMS.sig: 404 Not Found" + oops},
		"sums are a page": {origintest.Sums, origintest.HTML("Sign in"), nil,
			check + files + "SHA256SUMS" + ": SHA256SUMS: is an HTML or XML page, not a list of checksums"},
		"zip missing": {origintest.Zip, origintest.Status(404), nil,
			zip + files + "haiku_riscv64.zip: 404 Not Found" + oops},
		"zip is a page": {origintest.Zip, origintest.HTML("Wait"), nil,
			zip + "expected a zip: " + files + `haiku_riscv64.zip: 200 OK: an HTML page titled "Wait"`},
		"zip in part": {origintest.Zip, origintest.Status(206), nil,
			zip + files + "haiku_riscv64.zip: 206 Partial Content" + oops},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, origintest.Options{})
			w.origin.Misbehave(test.kind, test.fault, -1)
			s := w.source()
			// If only one platform is requested, the first error is deterministic.
			r, err := s.Release(t.Context(), w.address, version(t, "1.2.3"), haiku)
			if err == nil {
				_, _, err = s.Open(t.Context(), r.Packages[0])
			}
			if diff := cmp.Diff(test.want, w.text(err)); diff != "" {
				t.Error(diff)
			}
			if test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("is not %v", test.is)
			}
		})
	}
}

func TestRegistryIsDown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	w.server.Close()
	_, err := w.source().Versions(t.Context(), w.address)
	var exhausted *provider.TransientError
	if !errors.As(err, &exhausted) || exhausted.Tries != 3 {
		t.Errorf("got %v", err)
	}
	want := `listing versions of HOST/acme/thing: finding the provider registry of HOST: Get "https://HOST/.well-known/terraform.json": after 3 tries: `
	if !strings.HasPrefix(w.text(err), want) {
		t.Errorf("got %s", w.text(err))
	}
}

func TestRegistryHangs(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	for _, kind := range []origintest.Kind{origintest.Discovery, origintest.Package, origintest.Zip} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newMemoryWorld(t, origintest.Options{})
				w.origin.Misbehave(kind, origintest.Hang(), -1)
				_, err := w.read(t)
				if !errors.Is(err, os.ErrDeadlineExceeded) || !strings.HasSuffix(err.Error(), "after 3 tries: no data received for 60s") {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

func TestRegistryCanceledWhileItHangs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	w.origin.Misbehave(origintest.Package, func(rw http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		cancel()
		origintest.Hang()(rw, r, honest)
	}, -1)
	if _, err := w.source().Release(ctx, w.address, version(t, "1.2.3")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestRegistryTransientErrors(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]origintest.Fault{
		"503":                origintest.Status(503),
		"429":                origintest.Status(429, "Retry-After", "0"),
		"reset":              origintest.Reset(0),
		"reset in mid-body":  origintest.Reset(5),
		"body ends too soon": origintest.Short(5),
	} {
		for _, kind := range []origintest.Kind{
			origintest.Discovery, origintest.Versions, origintest.Package, origintest.Sums, origintest.Signature,
		} {
			t.Run(fmt.Sprint(name, " of ", kind), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, origintest.Options{})
				w.origin.Misbehave(kind, fault, 2)
				if _, err := w.source().Release(t.Context(), w.address, version(t, "1.2.3"), plan9); err != nil {
					t.Error(err)
				}
				if n := w.origin.Requests()[kind]; n != 3 {
					t.Errorf("%d requests, want 3", n)
				}
			})
		}
	}
}

// TestRegistryWrongZips checks that a corrupt zip is never returned completely, and
// whether Open can be retried after each failure.
func TestRegistryWrongZips(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault     origintest.Fault
		options   origintest.Options
		transient bool
		as        any
	}{
		"reset in mid-zip":      {origintest.Reset(40), origintest.Options{}, true, nil},
		"short":                 {origintest.Short(40), origintest.Options{}, true, nil},
		"a bit flipped":         {origintest.FlipBit(1), origintest.Options{}, false, new(*sums.MismatchError)},
		"last bit flipped":      {origintest.FlipBit(int64(len(zipOf(t, "haiku")))), origintest.Options{}, false, new(*sums.MismatchError)},
		"longer":                {origintest.Longer(), origintest.Options{}, false, new(*sums.SizeError)},
		"longer, size unknown":  {origintest.Longer(), origintest.Options{NoPackages: true}, false, new(*sums.MismatchError)},
		"flipped, size unknown": {origintest.FlipBit(1), origintest.Options{NoPackages: true}, false, new(*sums.MismatchError)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, test.options)
			w.origin.Misbehave(origintest.Zip, test.fault, -1)
			s := w.source()
			r, err := s.Release(t.Context(), w.address, version(t, "1.2.3"), haiku)
			if err != nil {
				t.Fatal(err)
			}
			var got []byte
			body, _, err := s.Open(t.Context(), r.Packages[0])
			if err == nil {
				got, err = io.ReadAll(body)
				_ = body.Close()
			}
			served := len(w.zips[haiku])
			if strings.HasPrefix(name, "longer") {
				served++
			}
			if err == nil || len(got) >= served {
				t.Errorf("%d of %d bytes came through, error %v", len(got), served, err)
			}
			if httpclient.IsTransient(err) != test.transient {
				t.Errorf("transient should be %t: %v", test.transient, err)
			}
			if test.as != nil && !errors.As(err, test.as) {
				t.Errorf("want a %T, got %v", test.as, err)
			}
		})
	}
}
