package mirror_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
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

// latency is added to each request to simulate a distant server.
const latency = 30 * time.Millisecond

// benchVersions is the number of versions that benchmarks mirror. benchPlatforms is the
// number of platforms of each version.
const benchVersions, benchPlatforms = 200, 10

// BenchmarkLatency mirrors 200 versions with 10 platforms each and 1 kB zips from an
// origin to an empty registry, both with a latency of 30 ms. A second run finds all
// versions unchanged.
//
//	go test ./pkg/mirror -run - -bench Latency -benchtime 1x
func BenchmarkLatency(b *testing.B) {
	offered := offer(b)
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
		for _, status := range []publish.Status{publish.Created, publish.Unchanged} {
			began := time.Now()
			mirrorAll(b, file, at, host, status)
			b.ReportMetric(time.Since(began).Seconds(), "s-"+string(status))
		}
		b.Logf("requests: %v %v", offered.Requests(), registry.Requests())
	}
}

// mirrorAll mirrors all versions in a run with a separate source and repository. It
// checks the status of each version.
func mirrorAll(b *testing.B, ca, at, host string, want publish.Status) {
	b.Helper()
	client, err := httpclient.New(httpclient.Options{CAFile: ca})
	if err != nil {
		b.Fatal(err)
	}
	defer client.CloseIdleConnections()
	src := origin.New(origin.Options{HTTP: client, Services: map[svchost.Hostname]string{provider.DefaultHost: "https://" + at + "/v1/providers/"}})
	done := 0
	err = mirror.Run(b.Context(), src, []provider.Requirement{{Address: address(b, "acme/rocket")}}, mirror.Options{
		Target: func(provider.Address) (repository.Repository, publish.Options, error) {
			repo, err := repository.Open(template.Reference{Registry: host, Name: "acme/rocket"}, repository.Options{HTTP: client})
			return repo, publish.Options{}, err
		},
		OnResult: func(r mirror.Result) {
			if done++; r.Err != nil || r.Published.Status != want {
				b.Error(r.Published.Status, r.Err)
			}
		},
	})
	if err != nil || done != benchVersions {
		b.Fatal(done, err)
	}
}

// offer returns an origin with the benchmark's versions of acme/rocket and 1 kB zips.
func offer(b *testing.B) *origintest.Origin {
	b.Helper()
	offered := origintest.New(origintest.Options{})
	for i := range benchVersions {
		r := origintest.Release{
			Namespace: "acme", Type: "rocket", Version: fmt.Sprintf("1.%d.0", i), Protocols: []string{"6.0"},
			Archives: map[provider.Platform]origintest.Archive{}, Signature: []byte("a signature of " + fmt.Sprint(i)), Keys: []string{"a key"},
		}
		for j := range benchPlatforms {
			p := provider.Platform{OS: "plan9", Arch: fmt.Sprintf("arch%d", j)}
			r.Archives[p] = origintest.Archive{Bytes: archive(b, r.Version+p.String(), 850)}
		}
		if err := offered.Add(b.Context(), r); err != nil {
			b.Fatal(err)
		}
	}
	return offered
}

// far serves h over TLS with the added latency.
func far(b *testing.B, ca *testca.CA, h http.Handler) (host string) {
	b.Helper()
	return registrytest.Serve(b, ca, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(latency)
		h.ServeHTTP(w, r)
	}))
}

// archive returns a package zip that contains a file of size bytes.
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
