package source_test

import (
	"path/filepath"
	"sync"
	"testing"
	"time"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/internal/testing/sourcetest"
	"github.com/tofu-oci/tofu-oci/internal/testing/testca"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
)

// world is an origin registry with two releases.
type world struct {
	*origintest.Origin
	options origin.Options
	address provider.Address
	zips    map[provider.Platform][]byte
}

func newWorld(t *testing.T) *world {
	t.Helper()
	ca, err := testca.New()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{Origin: origintest.New(origintest.Options{}), address: nouns.Address(t, "registry.example.org/acme/thing"), zips: map[provider.Platform][]byte{}}
	url := "https://" + registrytest.Serve(t, ca, w.Origin) + "/v1/providers/"
	w.options = origin.Options{HTTP: registrytest.Client(t, ca), Services: map[svchost.Hostname]string{w.address.Host: url}}
	for _, version := range []string{"1.0.0", "1.2.3"} {
		r := origintest.Release{Namespace: "acme", Type: "thing", Version: version, Archives: map[provider.Platform]origintest.Archive{}}
		for _, p := range []provider.Platform{nouns.Haiku, nouns.Plan9} {
			w.zips[p] = nouns.Zip(t, version+p.String())
			r.Archives[p] = origintest.Archive{Bytes: w.zips[p]}
		}
		if err := w.Add(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// memo returns a caching source.
func (w *world) memo(lifetime time.Duration) *source.Memo {
	o := w.options
	o.Lifetime = time.Nanosecond
	return source.NewMemo(origin.New(o), lifetime)
}

func TestMemoConforms(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sourcetest.Run(t, sourcetest.Fixture{
		New: func(*testing.T) provider.Source { return w.memo(0) }, Address: w.address,
		Versions: []provider.Version{nouns.Version(t, "1.2.3"), nouns.Version(t, "1.0.0")}, Zips: w.zips,
	})
}

func TestMemoForwardsCapabilities(t *testing.T) {
	t.Parallel()
	sourcetest.RunDecorator(t, origin.New(newWorld(t).options), func(inner provider.Source) provider.Source { return source.NewMemo(inner, 0) })
}

// TestMemoLifetime checks that concurrent callers share one request during the
// lifetime. After the lifetime, a new request is sent.
func TestMemoLifetime(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		lifetime time.Duration
		fresh    bool
	}{"a run": {0, false}, "an hour": {time.Hour, false}, "next to nothing": {time.Nanosecond, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			m := w.memo(test.lifetime)
			v := nouns.Version(t, "1.2.3")
			ask := func() {
				if _, err := m.Versions(t.Context(), w.address); err != nil {
					t.Error(err)
				}
				r, err := m.Release(t.Context(), w.address, v, nouns.Plan9)
				if err != nil || len(r.Packages) != 1 {
					t.Errorf("%v, %v", r.Packages, err)
				}
			}
			ask()
			first := w.Requests()
			var group sync.WaitGroup
			for range 4 {
				group.Go(ask)
			}
			group.Wait()
			for _, kind := range []origintest.Kind{origintest.Versions, origintest.Package, origintest.Sums} {
				if requested := w.Requests()[kind] > first[kind]; requested != test.fresh {
					t.Errorf("%s: %d requests after %d", kind, w.Requests()[kind], first[kind])
				}
			}
		})
	}
}

// TestMemoIsNotChangedByItsUsers checks that other callers are not affected if a caller
// modifies a result.
func TestMemoIsNotChangedByItsUsers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.memo(0)
	v := nouns.Version(t, "1.2.3")
	for range 2 {
		versions, err := m.Versions(t.Context(), w.address)
		if err != nil || len(versions) != 2 || versions[0] != v {
			t.Fatal(versions, err)
		}
		versions[0] = versions[1]
		r, err := m.Release(t.Context(), w.address, v)
		if err != nil || r.Packages[0].Filename != provider.Filename(w.address, v, nouns.Haiku) {
			t.Fatal(r, err)
		}
		r.Packages[0].Filename = filepath.Join("some", "thing")
	}
}
