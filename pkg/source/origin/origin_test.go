package origin_test

import (
	"bytes"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	svchost "github.com/hashicorp/terraform-svchost"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/sourcetest"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

func TestRegistryConforms(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]origintest.Options{
		"all stated":         {},
		"relative URLs":      {RelativeURLs: true, Prefix: "/a/b/"},
		"without sizes":      {NoPackages: true},
		"prefix, no slash":   {Prefix: "/x/", Service: "/x"},
		"relative discovery": {Prefix: "/.well-known/v1/", Service: "v1/"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, o)
			var versions []provider.Version
			for _, v := range []string{"1.10.0-beta1", "1.2.3", "1.2.0", "1.0.0", "0.1.0"} {
				versions = append(versions, version(t, v))
			}
			// The test suite uses the first version.
			r := w.release()
			r.Version = "1.10.0-beta1"
			w.add(t, r)
			sourcetest.Run(t, sourcetest.Fixture{
				New:     func(*testing.T) provider.Source { return w.source() },
				Address: w.address, Versions: versions, Zips: w.zips,
			})
		})
	}
}

func TestRegistryDescribesARelease(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	r, err := w.source().Release(t.Context(), w.address, version(t, "1.2.3"))
	if err != nil {
		t.Fatal(err)
	}
	at := func(file string) *url.URL {
		return &url.URL{Scheme: "https", Host: w.host(), Path: "/files/acme/thing/1.2.3/" + file}
	}
	pack := func(p provider.Platform, h1 string) provider.Package {
		name := "terraform-provider-thing_1.2.3_" + p.String() + ".zip"
		return provider.Package{
			Address: w.address, Version: version(t, "1.2.3"), Platform: p, Filename: name,
			Digest: digest.FromBytes(w.zips[p]), Size: int64(len(w.zips[p])), H1: h1, Locator: at(name),
		}
	}
	listed := sums.New(map[string]digest.Digest{
		"terraform-provider-thing_1.2.3_haiku_riscv64.zip": digest.FromBytes(w.zips[haiku]),
		"terraform-provider-thing_1.2.3_plan9_mips.zip":    digest.FromBytes(w.zips[plan9]),
	})
	const name = "terraform-provider-thing_1.2.3_SHA256SUMS"
	want := provider.Release{
		Address: w.address, Version: version(t, "1.2.3"), Protocols: []string{"5.0", "6.0"},
		Packages: []provider.Package{
			pack(haiku, h1(t, w.zips[haiku])), pack(plan9, h1(t, w.zips[plan9])),
		},
		Documents: []provider.Document{
			artifact.NewDocument(name, artifact.MediaTypeSums, listed.Bytes()),
			artifact.NewDocument(name+".sig", artifact.MediaTypeSignature, []byte("signature")),
			artifact.NewDocument(name+".keys.asc", artifact.MediaTypeKeys, []byte("key a\nkey b\n")),
		},
	}
	equal := cmp.Comparer(func(a, b provider.Version) bool { return a == b })
	if diff := cmp.Diff(want, r, equal); diff != "" {
		t.Error(diff)
	}
}

func TestRegistryRequestsDocumentsOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	s := w.source()
	for range 2 {
		if _, err := s.Versions(t.Context(), w.address); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Capabilities().Digests(t.Context(), w.address, version(t, "1.2.3")); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Release(t.Context(), w.address, version(t, "1.2.3")); err != nil {
			t.Fatal(err)
		}
	}
	want := map[origintest.Kind]int{
		origintest.Discovery: 1, origintest.Versions: 1, origintest.Package: 2,
		origintest.Sums: 1, origintest.Signature: 1,
	}
	if diff := cmp.Diff(want, w.origin.Requests()); diff != "" {
		t.Error(diff)
	}
}

func TestRegistryDigests(t *testing.T) {
	t.Parallel()
	t.Run("stated", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, origintest.Options{})
		got, err := w.source().Capabilities().Digests(t.Context(), w.address, version(t, "1.2.3"))
		if err != nil {
			t.Fatal(err)
		}
		want := map[provider.Platform]digest.Digest{haiku: digest.FromBytes(w.zips[haiku]), plan9: digest.FromBytes(w.zips[plan9])}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if n := w.origin.Requests()[origintest.Package]; n != 1 {
			t.Errorf("%d package documents, want 1", n)
		}
	})
	unstated := map[string]func(t *testing.T, w *world){
		"for a platform": func(t *testing.T, w *world) {
			r := w.release()
			r.Edit = func(_ provider.Platform, doc map[string]any) {
				delete(doc["packages"].(map[string]any), plan9.String())
			}
			w.add(t, r)
		},
		"no package": func(_ *testing.T, w *world) {
			w.origin.Misbehave(origintest.Package, origintest.Status(404), -1)
		},
		"no platforms": func(t *testing.T, w *world) {
			w.add(t, origintest.Release{Version: "1.2.3"})
		},
	}
	for name, arrange := range unstated {
		t.Run("not stated "+name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, origintest.Options{})
			arrange(t, w)
			got, err := w.source().Capabilities().Digests(t.Context(), w.address, version(t, "1.2.3"))
			if got != nil || err != nil {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

func TestRegistryVersions(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		options origintest.Options
		change  func(*origintest.Release)
		want    []string // names of attachments
	}{
		"no sums": {
			change: func(r *origintest.Release) { r.NoSums, r.Keys = true, nil },
		},
		"no signature, no keys": {
			change: func(r *origintest.Release) { r.Signature, r.Keys = nil, nil },
			want:   []string{"terraform-provider-thing_1.2.3_SHA256SUMS"},
		},
		"no shasum": {
			change: func(r *origintest.Release) {
				r.Signature, r.Keys = nil, nil
				r.Edit = func(_ provider.Platform, doc map[string]any) { delete(doc, "shasum") }
			},
			want: []string{"terraform-provider-thing_1.2.3_SHA256SUMS"},
		},
		"no statements": {
			options: origintest.Options{NoPackages: true},
			change:  func(r *origintest.Release) { r.Signature, r.Keys = nil, nil },
			want:    []string{"terraform-provider-thing_1.2.3_SHA256SUMS"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, test.options)
			r := w.release()
			test.change(&r)
			w.add(t, r)
			got, err := w.read(t)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, a := range got.Documents {
				names = append(names, a.Name)
			}
			if diff := cmp.Diff(test.want, names); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRegistryServicesOverrideDiscovery(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	host := svchost.Hostname("registry.invalid")
	w.options.Services = map[svchost.Hostname]string{host: w.server.URL + "/v1/providers"}
	w.address.Host = host
	if _, err := w.read(t); err != nil {
		t.Fatal(err)
	}
	if n := w.origin.Requests()[origintest.Discovery]; n != 0 {
		t.Errorf("%d discoveries", n)
	}
}

// TestRegistryFollowsRedirects redirects discovery to a different host. The service URL
// is relative to this host.
func TestRegistryFollowsRedirects(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{RelativeURLs: true})
	moved := http.NewServeMux()
	moved.Handle("/.well-known/terraform.json", http.RedirectHandler(w.server.URL+"/.well-known/terraform.json", http.StatusFound))
	front := serve(t, w.ca, moved)
	w.address.Host = svchost.Hostname(strings.TrimPrefix(front.URL, "https://"))
	w.origin.Misbehave(origintest.Versions, origintest.Redirect("/v1/providers/acme/thing/versions?again"), 1)
	w.origin.Misbehave(origintest.Zip, origintest.Redirect("/files/acme/thing/1.2.3/terraform-provider-thing_1.2.3_haiku_riscv64.zip?again"), 1)
	if _, err := w.read(t); err != nil {
		t.Error(err)
	}
}

func h1(t *testing.T, zip []byte) string {
	t.Helper()
	h, err := origintest.H1(bytes.NewReader(zip), int64(len(zip)))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestRegistryFailuresAreNotCached(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	w.origin.Misbehave(origintest.Versions, origintest.Status(404), 1)
	s := w.source()
	if _, err := s.Versions(t.Context(), w.address); !errors.Is(err, provider.ErrProviderNotFound) {
		t.Errorf("got %v", err)
	}
	if _, err := s.Versions(t.Context(), w.address); err != nil {
		t.Errorf("the second time: %v", err)
	}
}
