package origin_test

import (
	"bytes"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
)

// FuzzDocuments reads arbitrary responses of an origin registry.
func FuzzDocuments(f *testing.F) {
	const sum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	const name = "terraform-provider-thing_1.2.3_haiku_riscv64.zip"
	f.Add([]byte(`{"providers.v1":"/p/"}`), []byte(`{"versions":[{"version":"1.2.3","protocols":["5.0"],"platforms":[{"os":"haiku","arch":"riscv64"}]},{"version":"1.0"},{"version":"x"}]}`),
		[]byte(`{"os":"haiku","arch":"riscv64","filename":"`+name+`","download_url":"`+name+`","shasum":"`+sum+`","shasums_url":"SHA256SUMS","shasums_signature_url":"s.sig",
"signing_keys":{"gpg_public_keys":[{"ascii_armor":"key"}]},"packages":{"haiku_riscv64":{"hashes":["zh:`+sum+`"],"package_size":7}}}`), []byte(sum+"  "+name+"\n"))
	f.Add([]byte(`{"providers.v1":"https://other.example/"}`), []byte(`{"VERSIONS":[],"versions":null}`), []byte(`{"packages":{"a_b":null}}`), []byte{})
	f.Add([]byte(`{"providers.v1":"https:"}`), []byte(`{"versions":[null,{"version":"1.2.3","platforms":null}]}`), []byte(`[]`), []byte("<html>"))
	f.Fuzz(func(t *testing.T, discovery, versions, document, sums []byte) {
		requests := 0
		client := &http.Client{Transport: transport(func(r *http.Request) *http.Response {
			requests++
			body := sums
			switch {
			case path.Base(r.URL.Path) == "terraform.json":
				body = discovery
			case path.Base(r.URL.Path) == "versions":
				body = versions
			case strings.Contains(r.URL.Path, "/download/"):
				body = document
			}
			return &http.Response{
				StatusCode: http.StatusOK, Request: r, Header: http.Header{"Content-Type": {"application/json"}},
				ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body)),
			}
		})}
		s := origin.New(origin.Options{HTTP: client})
		a := address(t, "registry.example/acme/thing")
		listed, err := s.Versions(t.Context(), a)
		if err == nil && !slices.Equal(listed, provider.NewestFirst(listed)) {
			t.Errorf("not in order: %v", listed)
		}
		haikuOnly, err := s.Release(t.Context(), a, version(t, "1.2.3"), haiku)
		if err != nil {
			return
		}
		for _, p := range haikuOnly.Packages {
			if p.Platform != haiku || p.Digest.Validate() != nil || provider.CheckFilename(p.Filename) != nil || p.CheckIdentity() != nil {
				t.Errorf("a package %+v", p)
			}
		}
		for _, d := range haikuOnly.Documents {
			if provider.CheckFilename(d.Name) != nil {
				t.Errorf("a document named %q", d.Name)
			}
		}
		if len(haikuOnly.Packages) != 1 || requests > 5 {
			t.Errorf("%d packages in %d requests", len(haikuOnly.Packages), requests)
		}
	})
}
