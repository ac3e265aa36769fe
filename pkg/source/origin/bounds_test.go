package origin_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// list repeats an element and replaces %d in it with its number.
func list(n int, element string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = strings.ReplaceAll(element, "%d", fmt.Sprint(i))
	}
	return strings.Join(all, ",")
}

func TestRegistryBoundsLists(t *testing.T) {
	t.Parallel()
	const versions = "listing versions of HOST/acme/thing: GET https://HOST/v1/providers/acme/thing/versions: "
	const describing = "describing HOST/acme/thing 1.2.3: "
	const document = "https://HOST/v1/providers/acme/thing/1.2.3/download/haiku/riscv64: "
	ours := `{"version":"1.2.3","platforms":[{"os":"haiku","arch":"riscv64"}]}`
	tests := map[string]struct {
		kind origintest.Kind
		text string
		want string
	}{
		"values of the discovery document": {origintest.Discovery, `{"x":[` + list(1000, "1") + `]}`,
			"listing versions of HOST/acme/thing: finding the provider registry of HOST: GET https://HOST/.well-known/terraform.json: reading the response: JSON exceeds 1000 values"},
		"values of the list":       {origintest.Versions, `{"versions":[` + list(1<<19, "{}") + `]}`, versions + "reading the response: JSON exceeds 524288 values"},
		"values that do not count": {origintest.Versions, `{"x":[` + list(1<<19, "0") + `]}`, versions + "reading the response: JSON exceeds 524288 values"},
		"versions":                 {origintest.Versions, `{"versions":[` + list(10_001, `{"version":"1.0.%d"}`) + `]}`, versions + "list has 10001 versions; the maximum is 10000"},
		"platforms of a version": {origintest.Versions, `{"versions":[{"version":"1.2.3","platforms":[` + list(257, `{"os":"os%d","arch":"a"}`) + `]}]}`,
			versions + "version 1.2.3 has 257 platforms; the maximum is 256"},
		"values of a package document": {origintest.Package, `{"x":[` + list(1<<14, "0") + `]}`,
			describing + "GET " + document + "reading the response: JSON exceeds 16384 values"},
		"platforms of a package document": {origintest.Package, `{"filename":"terraform-provider-thing_1.2.3_haiku_riscv64.zip","download_url":"z","shasum":"` + strings.Repeat("0", 64) +
			`","packages":{` + list(257, `"os%d_a":{}`) + `}}`,
			describing + "package metadata " + document + "packages: 257 platforms; the maximum is 256"},
		"keys of a package document": {origintest.Package, `{"filename":"terraform-provider-thing_1.2.3_haiku_riscv64.zip","signing_keys":{"gpg_public_keys":[{"ascii_armor":"` + strings.Repeat("k", 256<<10+1) + `"}]}}`,
			describing + "package metadata " + document + "keys exceed 262144 bytes"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, origintest.Options{})
			if test.kind == origintest.Package {
				w.origin.Misbehave(origintest.Versions, origintest.Document("application/json", `{"versions":[`+ours+`]}`), -1)
			}
			w.origin.Misbehave(test.kind, origintest.Document("application/json", test.text), -1)
			_, err := w.source().Release(t.Context(), w.address, version(t, "1.2.3"))
			if got := w.text(err); got != test.want {
				t.Errorf("got %.500s\nwant %s", got, test.want)
			}
		})
	}
}

// TestRegistryBoundsRequests checks a release with the maximum number of platforms.
// Each platform has a separate SHA256SUMS.
func TestRegistryBoundsRequests(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	w := newWorld(t, origintest.Options{})
	archives := map[provider.Platform]origintest.Archive{}
	for i := range 256 {
		archives[provider.Platform{OS: "os", Arch: fmt.Sprintf("a%d", i)}] = origintest.Archive{Bytes: zipOf(t, "x")}
	}
	w.add(t, origintest.Release{
		Version: "9.0.0", Archives: archives, Signature: []byte("signature"),
		Edit: func(p provider.Platform, doc map[string]any) {
			doc["shasums_url"] = doc["shasums_url"].(string) + "?for=" + p.String()
			doc["shasums_signature_url"] = doc["shasums_signature_url"].(string) + "?for=" + p.String()
		},
	})
	r, err := w.source().Release(t.Context(), w.address, version(t, "9.0.0"))
	if err != nil || len(r.Packages) != 256 {
		t.Fatalf("%d packages, %v", len(r.Packages), err)
	}
	sum := 0
	for _, n := range w.origin.Requests() {
		sum += n
	}
	if sum > 2+3*256 {
		t.Errorf("a release took %d requests", sum)
	}
}

// transport is an http.RoundTripper that calls a function.
type transport func(*http.Request) *http.Response

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }
