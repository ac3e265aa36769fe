package mirror_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/mirror"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// TestRunRequestsOnce checks that shared data is requested once and that connections
// are reused.
func TestRunRequestsOnce(t *testing.T) {
	t.Parallel()
	const versions = 40
	w := newWorld(t, registrytest.Options{Username: "user", Password: "password", Bearer: true}, versions, 1000)
	results := w.run(t, w.source(), mirror.Options{})
	wantVersions(t, results, versions-1, versions)
	for _, r := range results {
		if r.Err != nil || r.Published.Status != publish.Created {
			t.Errorf("%s: %s %v", r.Item.Version, r.Published.Status, r.Err)
		}
	}
	requests := w.origin.Requests()
	if requests[origintest.Discovery] != 1 || requests[origintest.Versions] != 1 || requests[origintest.Package] != 2*versions ||
		requests[origintest.Sums] != versions || requests[origintest.Zip] != 2*versions {
		t.Errorf("unexpected requests to the origin: %v", requests)
	}
	// The registry issues one token for reading and one for writing.
	if n := w.registry.Requests()[registrytest.Token]; n != 2 {
		t.Errorf("%d tokens", n)
	}
	// Some connections are opened but not used, because another connection becomes idle
	// first.
	for name, d := range map[string]*door{"origin": w.atOrigin, "registry": w.atRegistry} {
		if d.connections > d.requests/4 {
			t.Errorf("%d connections to the %s for %d requests", d.connections, name, d.requests)
		}
	}
}

// TestRunRequestsAtOnce checks that the number of concurrent requests to each server
// reaches its limit and does not exceed it.
func TestRunRequestsAtOnce(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	w := newWorld(t, registrytest.Options{}, schedule.MaxItems, 1000)
	packages, _ := origintest.Together(schedule.MaxRequestsToOrigin)
	puts, _ := origintest.Together(schedule.MaxRequestsToHost)
	w.origin.Misbehave(origintest.Package, packages, -1)
	w.registry.Misbehave(registrytest.ManifestPut, puts, -1)
	for _, r := range w.run(t, w.source(), mirror.Options{}) {
		if r.Err != nil {
			t.Error(r.Err)
		}
	}
	if a, b := w.atOrigin.most, w.atRegistry.most; a != schedule.MaxRequestsToOrigin || b != schedule.MaxRequestsToHost {
		t.Errorf("%d requests at once to the origin, %d to the registry", a, b)
	}
}

// TestRunTransfers checks that the number of concurrent transfers of large zips across
// all releases equals Concurrency.
func TestRunTransfers(t *testing.T) {
	t.Parallel()
	const versions, concurrency = 5, 3
	w := newWorld(t, registrytest.Options{}, versions, schedule.MaxSmall+1)
	fault, most := origintest.Together(concurrency)
	w.origin.Misbehave(origintest.Zip, fault, -1)
	for _, r := range w.run(t, w.source(), mirror.Options{Publisher: &publish.Publisher{Concurrency: concurrency}}) {
		if r.Err != nil {
			t.Error(r.Err)
		}
	}
	if most() != concurrency {
		t.Errorf("%d zips at once", most())
	}
}

// TestRunReportsInOrder delays the download of one release until the last release is
// finished. It checks the order of the results.
func TestRunReportsInOrder(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	const versions = 10
	w := newWorld(t, registrytest.Options{}, versions, 1000)
	last := make(chan struct{})
	w.origin.Misbehave(origintest.Zip, func(rw http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		if strings.Contains(r.URL.Path, "/1.9.0/") {
			select {
			case <-last:
			case <-r.Context().Done():
			}
		}
		honest(rw, r)
	}, -1)
	w.registry.Misbehave(registrytest.ManifestPut, func(rw http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		honest(rw, r)
		if path.Base(r.URL.Path) == "1.0.0" {
			close(last)
		}
	}, -1)
	wantVersions(t, w.run(t, w.source(), mirror.Options{}), versions-1, versions)
}

var errTarget = errors.New("no such place")

// TestRunTargets checks that all releases of a provider fail if it has no target.
func TestRunTargets(t *testing.T) {
	t.Parallel()
	w := newWorld(t, registrytest.Options{}, 2, 1000)
	calls := 0
	results := w.run(t, w.source(), mirror.Options{Target: func(provider.Address) (repository.Repository, publish.Options, error) {
		calls++
		return nil, publish.Options{}, errTarget
	}})
	wantVersions(t, results, 1, 2)
	for _, r := range results {
		if !errors.Is(r.Err, errTarget) || r.Repository != "" {
			t.Errorf("%+v", r)
		}
	}
	if calls != 1 {
		t.Errorf("got %d calls, want 1", calls)
	}
	wanted := []provider.Requirement{{Address: w.address}}
	if err := mirror.Run(t.Context(), w.source(), wanted, mirror.Options{}); err == nil {
		t.Error("got no error without a Target")
	}
	if err := mirror.Run(t.Context(), w.source(), wanted, mirror.Options{Target: w.target}); err != nil || len(w.registry.Tags(t, "acme/rocket")) != 2 {
		t.Errorf("without OnResult: %v", err)
	}
}

// TestRunRefusesASharedRepository checks that Run rejects a target repository that two
// providers share.
func TestRunRefusesASharedRepository(t *testing.T) {
	t.Parallel()
	w := newWorld(t, registrytest.Options{}, 2, 1000)
	wanted := []provider.Requirement{w.requirement(t, "acme/rocket@1.0.0"), w.requirement(t, "acme/sled@1.0.0"), w.requirement(t, "acme/rocket@1.1.0")}
	err := mirror.Run(t.Context(), w.source(), wanted, mirror.Options{
		Target:   func(provider.Address) (repository.Repository, publish.Options, error) { return w.target(w.address) },
		OnResult: func(r mirror.Result) { t.Errorf("%+v", r) },
	})
	want := fmt.Sprintf("%[1]s/acme/rocket and %[1]s/acme/sled use the same repository %[2]s/acme/rocket", w.atOrigin.host, w.atRegistry.host)
	if provider.KindOf(err) != provider.Misuse || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

// TestRunCreatesRepositoryOnce checks that a missing repository is created only once,
// even if several releases find it missing.
func TestRunCreatesRepositoryOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, registrytest.Options{NoCreate: true}, 10, 1000)
	var made atomic.Int32
	results := w.run(t, w.source(), mirror.Options{Target: func(a provider.Address) (repository.Repository, publish.Options, error) {
		repo, o, err := w.target(a)
		return publish.CreateMissing(repo, func(context.Context) error {
			made.Add(1)
			w.registry.Create("acme/rocket")
			return nil
		}), o, err
	}})
	for _, r := range results {
		if r.Err != nil {
			t.Error(r.Err)
		}
	}
	if made.Load() != 1 {
		t.Errorf("created %d times", made.Load())
	}
}
