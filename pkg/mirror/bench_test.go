package mirror_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/internal/testing/testca"
	"github.com/tofu-oci/tofu-oci/pkg/mirror"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// latency is what each request takes beyond the work, as over a long way.
const latency = 30 * time.Millisecond

// BenchmarkLatency mirrors 200 versions for 10 platforms each, of 1 kB, from an
// origin into an empty registry, both 30 ms away; and once more when all is there.
//
//	go test ./pkg/mirror -run - -bench Latency -benchtime 1x
func BenchmarkLatency(b *testing.B) {
	const versions, platforms = 200, 10
	offered := origintest.New(origintest.Options{})
	for i := range versions {
		r := origintest.Release{
			Namespace: "acme", Type: "rocket", Version: fmt.Sprintf("1.%d.0", i), Protocols: []string{"6.0"},
			Archives: map[provider.Platform]origintest.Archive{}, Signature: []byte("a signature"), Keys: []string{"a key"},
		}
		for j := range platforms {
			p := provider.Platform{OS: "plan9", Arch: fmt.Sprintf("arch%d", j)}
			r.Archives[p] = origintest.Archive{Bytes: archive(b, r.Version+p.String(), 850)}
		}
		if err := offered.Add(b.Context(), r); err != nil {
			b.Fatal(err)
		}
	}
	ca, err := testca.New()
	if err != nil {
		b.Fatal(err)
	}
	file := filepath.Join(b.TempDir(), "ca.pem")
	if err := os.WriteFile(file, ca.PEM(), 0o600); err != nil {
		b.Fatal(err)
	}
	at := far(b, ca, offered)
	for b.Loop() {
		registry := registrytest.New(registrytest.Options{})
		host := far(b, ca, registry)
		for _, name := range []string{"first", "again"} {
			client, err := httpclient.New(httpclient.Options{CAFile: file})
			if err != nil {
				b.Fatal(err)
			}
			src := origin.New(origin.Options{HTTP: client, Services: map[svchost.Hostname]string{provider.DefaultHost: "https://" + at + "/v1/providers/"}})
			began, done := time.Now(), 0
			err = mirror.Run(b.Context(), src, []provider.Requirement{{Address: address(b, "acme/rocket")}}, mirror.Options{
				Target: func(provider.Address) (repository.Repository, publish.Options, error) {
					repo, err := repository.NewRegistry(template.Reference{Registry: host, Name: "acme/rocket"}, repository.Options{HTTP: client})
					return repo, publish.Options{}, err
				},
				Done: func(r mirror.Result) {
					if done++; r.Err != nil {
						b.Error(r.Err)
					}
				},
			})
			if err != nil || done != versions {
				b.Fatal(done, err)
			}
			b.ReportMetric(time.Since(began).Seconds(), "s-"+name)
			client.CloseIdleConnections()
		}
		b.Logf("requests: %v %v", offered.Requests(), registry.Requests())
	}
}

// far serves over TLS with a latency.
func far(b *testing.B, ca *testca.CA, h http.Handler) (host string) {
	b.Helper()
	config, err := ca.ServerConfig("localhost")
	if err != nil {
		b.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(latency)
		h.ServeHTTP(w, r)
	}))
	s.TLS = config
	s.StartTLS()
	b.Cleanup(s.Close)
	return "localhost" + s.URL[strings.LastIndex(s.URL, ":"):]
}

// archive makes a package's zip that holds size bytes.
func archive(tb testing.TB, content string, size int) []byte {
	tb.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	entry, err := w.CreateHeader(&zip.FileHeader{Name: "terraform-provider-rocket", Method: zip.Store})
	if err == nil {
		_, err = fmt.Fprintf(entry, "%-*s", size, content)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

func address(tb testing.TB, text string) provider.Address {
	tb.Helper()
	a, err := provider.ParseAddress(text)
	if err != nil {
		tb.Fatal(err)
	}
	return a
}
