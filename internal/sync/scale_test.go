package sync_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	svchost "github.com/hashicorp/terraform-svchost"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/sync"
	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/internal/testing/testca"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// fleet is an origin registry and an OCI registry that contain the same generated
// releases. It counts requests.
type fleet struct {
	versions, platforms int
	// list is the origin's list of versions. tags contains the tags of a repository.
	// indexes contains the index of each tag. All three contain the placeholder instead
	// of the provider's type.
	list, tags []byte
	indexes    map[string][]byte

	lists, tagLists, manifests, others atomic.Int64
}

// placeholder represents a provider's type. All types have the same length.
const placeholder = "p00000"

func newFleet(tb testing.TB, versions, platforms int) *fleet {
	tb.Helper()
	f := &fleet{versions: versions, platforms: platforms, indexes: map[string][]byte{}}
	var listed, tags []string
	for i := range versions {
		r := provider.Release{Address: nouns.Address(tb, "acme/"+placeholder), Version: nouns.Version(tb, fmt.Sprintf("1.%d.0", i))}
		var names []string
		for j := range platforms {
			p := provider.Platform{OS: "linux", Arch: "arch" + strconv.Itoa(j)}
			r.Packages = append(r.Packages, provider.Package{
				Address: r.Address, Version: r.Version, Platform: p, Filename: provider.Filename(r.Address, r.Version, p),
				Digest: digest.FromString(r.Version.String() + p.String()), Size: 1000,
			})
			names = append(names, fmt.Sprintf(`{"os":%q,"arch":%q}`, p.OS, p.Arch))
		}
		packed, err := artifact.Pack(r, artifact.Options{})
		if err != nil {
			tb.Fatal(err)
		}
		tag := artifact.Tag(r.Version)
		f.indexes[tag] = packed.Index.Bytes
		tags = append(tags, strconv.Quote(tag))
		listed = append(listed, fmt.Sprintf(`{"version":%q,"protocols":["6.0"],"platforms":[%s]}`, r.Version, strings.Join(names, ",")))
	}
	f.list = []byte(`{"versions":[` + strings.Join(listed, ",") + "]}")
	f.tags = []byte(`{"name":"acme/` + placeholder + `","tags":[` + strings.Join(tags, ",") + "]}")
	return f
}

// ServeHTTP serves /v1/providers/acme/TYPE/versions and the repositories acme/TYPE.
func (f *fleet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	elements := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	body, contentType, count := []byte(nil), "application/json", &f.others
	switch {
	case len(elements) == 5 && elements[4] == "versions":
		body, count = f.list, &f.lists
	case len(elements) == 5 && elements[3] == "tags":
		body, count = f.tags, &f.tagLists
	case len(elements) == 5 && elements[3] == "manifests":
		body, count, contentType = f.indexes[elements[4]], &f.manifests, "application/vnd.oci.image.index.v1+json"
	}
	count.Add(1)
	if body == nil {
		http.NotFound(w, r)
		return
	}
	typ := elements[2]
	if elements[0] == "v1" {
		typ = elements[3]
	}
	body = bytes.ReplaceAll(body, []byte(placeholder), []byte(typ))
	sum := sha256.Sum256(body)
	w.Header().Set("Docker-Content-Digest", "sha256:"+hex.EncodeToString(sum[:]))
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body)
}

// plan creates a plan for n providers, and checks that the plan contains no changes.
func (f *fleet) plan(tb testing.TB, n int, check repository.Depth) {
	tb.Helper()
	ca, err := testca.New()
	if err != nil {
		tb.Fatal(err)
	}
	host := registrytest.Serve(tb, ca, f)
	d := f.declare(tb, host, n)
	wanted, problems := d.Wanted(tb.Context(), nil)
	client := registrytest.Client(tb, ca)
	services := map[svchost.Hostname]string{provider.DefaultHost: "https://" + host + "/v1/providers/"}
	p, err := sync.NewPlan(tb.Context(), sync.Options{
		Declaration: d, Wanted: wanted, Problems: problems, Check: check,
		Source: origin.New(origin.Options{HTTP: client, Services: services}),
		Open: func(ref template.Reference) (repository.Repository, error) {
			return repository.Open(ref, repository.Options{HTTP: client})
		},
	})
	if err != nil || len(problems) > 0 {
		tb.Fatal(err, problems)
	}
	if len(p.Actions) > 0 || p.Summary.Providers != n || p.Summary.Unchanged != n*f.versions {
		tb.Fatalf("got %+v, first %+v", p.Summary, p.Actions[:min(1, len(p.Actions))])
	}
}

// declare returns a declaration of n providers.
func (f *fleet) declare(tb testing.TB, host string, n int) *sync.Declaration {
	tb.Helper()
	dir := tb.TempDir()
	var lines strings.Builder
	for i := range n {
		fmt.Fprintf(&lines, "acme/p%05d\n", i+1)
	}
	declaration := fmt.Sprintf(`version = 1
sources = ["providers.txt"]
target "main" {
  repository = "%s/{namespace}/{type}"
}
defaults {
  latest = "all"
}
`, host)
	for name, text := range map[string]string{"providers.txt": lines.String(), "mirror.hcl": declaration} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	d, err := sync.Read(filepath.Join(dir, "mirror.hcl"), func(string) (string, bool) { return "", false })
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// requests returns the number of requests of each kind.
func (f *fleet) requests() string {
	return fmt.Sprintf("%d version lists, %d tag lists, %d manifests, %d others", f.lists.Load(), f.tagLists.Load(), f.manifests.Load(), f.others.Load())
}

// TestRequestsPerProvider checks that a plan without changes sends one request per
// provider to the origin registry, and one request per repository for its tags. The
// check level index adds one request per version.
func TestRequestsPerProvider(t *testing.T) {
	t.Parallel()
	for check, want := range map[repository.Depth]string{
		repository.DepthTags:  "40 version lists, 40 tag lists, 0 manifests, 0 others",
		repository.DepthIndex: "40 version lists, 40 tag lists, 200 manifests, 0 others",
	} {
		t.Run(check.String(), func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 5, 3)
			f.plan(t, 40, check)
			if got := f.requests(); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

// BenchmarkPlan creates plans for providers with 50 existing versions for 10 platforms.
// The reported memory includes the registries. The benchmark fails if a plan at the check
// level tags needs more than one version list and one tag list per provider or more than
// 1 GiB, or if the number of allocations does not grow linearly with the number of
// providers.
func BenchmarkPlan(b *testing.B) {
	for _, check := range []repository.Depth{repository.DepthTags, repository.DepthIndex} {
		b.Run(check.String(), func(b *testing.B) {
			perProvider := map[int]float64{}
			for _, n := range []int{500, 4000} {
				b.Run(strconv.Itoa(n), func(b *testing.B) {
					f := newFleet(b, 50, 10)
					debug.FreeOSMemory()
					var highest uint64
					allocated := allocations()
					for b.Loop() {
						stop, peak := watchMemory(b.Context())
						f.plan(b, n, check)
						stop()
						highest = max(highest, <-peak)
					}
					providers := float64(b.N * n)
					perProvider[n] = float64(allocations()-allocated) / providers
					b.ReportMetric(float64(highest)/(1<<20), "peak-MiB")
					b.ReportMetric(perProvider[n], "allocations/provider")
					b.ReportMetric(float64(f.lists.Load())/providers, "origin-requests/provider")
					b.ReportMetric(float64(f.tagLists.Load())/providers, "tag-lists/provider")
					b.ReportMetric(float64(f.manifests.Load())/providers, "manifests/provider")
					requests := f.lists.Load() + f.tagLists.Load() + f.manifests.Load() + f.others.Load()
					if check == repository.DepthTags && (float64(requests) > 2*providers || highest > 1<<30) {
						b.Errorf("planning took %s and %d MiB", f.requests(), highest>>20)
					}
				})
			}
			if few, many := perProvider[500], perProvider[4000]; few > 0 && many > 2*few {
				b.Errorf("planning makes %.0f allocations per provider for 500 providers, and %.0f for 4,000", few, many)
			}
		})
	}
}

// allocations returns the number of allocations that this process has made.
func allocations() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

// watchMemory samples the memory of this process until stop is called. It then sends
// the highest sample to peak.
func watchMemory(ctx context.Context) (stop context.CancelFunc, peak <-chan uint64) {
	ctx, stop = context.WithCancel(ctx)
	highest := make(chan uint64, 1)
	go func() {
		var most uint64
		for ctx.Err() == nil {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.Sys-m.HeapReleased)
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
		highest <- most
	}()
	return stop, highest
}
