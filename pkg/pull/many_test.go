package pull_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/pull"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
)

var haiku = provider.Platform{OS: "haiku", Arch: "riscv64"}

// offer starts an origin registry with version 1.0.0 of some providers for one platform,
// and returns its source.
func offer(t *testing.T, size int, names ...string) (*origintest.Origin, *origin.Source) {
	t.Helper()
	offered := origintest.New(origintest.Options{})
	for _, name := range names {
		namespace, typ, _ := strings.Cut(name, "/")
		var out bytes.Buffer
		w := zip.NewWriter(&out)
		entry, err := w.CreateHeader(&zip.FileHeader{Name: "terraform-provider-" + typ, Method: zip.Store})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprintf(entry, "%-*s", size, name); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		err = offered.Add(t.Context(), origintest.Release{
			Namespace: namespace, Type: typ, Version: "1.0.0", Protocols: []string{"6.0"},
			Archives: map[provider.Platform]origintest.Archive{haiku: {Bytes: out.Bytes()}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	server := httptest.NewTLSServer(offered)
	t.Cleanup(server.Close)
	return offered, origin.New(origin.Options{
		HTTP: server.Client(), Services: map[svchost.Hostname]string{provider.DefaultHost: server.URL + "/v1/providers/"},
	})
}

func requirements(t *testing.T, texts ...string) []provider.Requirement {
	t.Helper()
	var all []provider.Requirement
	for _, text := range texts {
		r, err := provider.ParseRequirement(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// pullMany pulls zips to a new directory.
func pullMany(t *testing.T, src provider.Source, wanted []provider.Requirement, o pull.ManyOptions) []pull.Pulled {
	t.Helper()
	sink, err := pull.NewSink(pull.LayoutZip, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var all []pull.Pulled
	o.OnResult, o.Platforms = func(p pull.Pulled) { all = append(all, p) }, []provider.Platform{haiku}
	if err := pull.Many(t.Context(), src, sink, wanted, o); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestManyInOrder delays the first zip until the last zip is requested.
func TestManyInOrder(t *testing.T) {
	t.Parallel()
	names := []string{"acme/one", "acme/two", "acme/three"}
	offered, src := offer(t, 1000, names...)
	last := make(chan struct{})
	offered.Misbehave(origintest.Zip, func(rw http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		if strings.Contains(r.URL.Path, "/three/") {
			close(last)
		}
		select {
		case <-last:
		case <-r.Context().Done():
		}
		honest(rw, r)
	}, -1)
	wanted := append(requirements(t, names...), requirements(t, "acme/four")...)
	var started, finished atomic.Int32
	results := pullMany(t, src, wanted, pull.ManyOptions{
		OnStart:  func(provider.Requirement, provider.Version) { started.Add(1) },
		OnFinish: func(pull.Pulled) { finished.Add(1) },
	})
	if started.Load() != 3 || finished.Load() != 4 {
		t.Errorf("%d started, %d finished", started.Load(), finished.Load())
	}
	if len(results) != len(wanted) {
		t.Fatalf("%d results", len(results))
	}
	for i, r := range results[:3] {
		if r.Err != nil || r.Requirement.Address != wanted[i].Address || r.Version.String() != "1.0.0" || len(r.Packages) != 1 || r.Packages[0].Kept {
			t.Errorf("%d: %+v", i, r)
		}
	}
	if !errors.Is(results[3].Err, provider.ErrProviderNotFound) {
		t.Errorf("got %v", results[3].Err)
	}
}

// TestManyFailFast checks that no release is started if a requirement selects no
// version.
func TestManyFailFast(t *testing.T) {
	t.Parallel()
	offered, src := offer(t, 1000, "acme/one")
	results := pullMany(t, src, requirements(t, "acme/one", "acme/two"), pull.ManyOptions{FailFast: true})
	if len(results) != 1 || !errors.Is(results[0].Err, provider.ErrProviderNotFound) {
		t.Errorf("%+v", results)
	}
	if n := offered.Requests(); n[origintest.Package] != 0 {
		t.Errorf("the origin got requests for %v", n)
	}
}

// TestManyTakeTurns checks two packages with the same name. The first package is
// stored, and the second package is not fetched.
func TestManyTakeTurns(t *testing.T) {
	t.Parallel()
	offered, src := offer(t, 1000, "acme/one", "other/one")
	results := pullMany(t, src, requirements(t, "acme/one", "other/one", "acme/one@1.0.0"), pull.ManyOptions{})
	if len(results) != 3 || results[0].Err != nil || results[2].Err != nil || !results[2].Packages[0].Kept {
		t.Fatalf("%+v", results)
	}
	if !errors.Is(results[1].Err, pull.ErrExists) {
		t.Errorf("got %v", results[1].Err)
	}
	if n := offered.Requests()[origintest.Zip]; n != 1 {
		t.Errorf("%d zips were fetched", n)
	}
}

// TestManyTransfers checks that Concurrency limits the total number of transfers of
// large zips in all releases.
func TestManyTransfers(t *testing.T) {
	t.Parallel()
	const concurrency = 2
	names := []string{"acme/one", "acme/two", "acme/three", "acme/four", "acme/five"}
	offered, src := offer(t, schedule.MaxSmall+1, names...)
	fault, most := origintest.Together(concurrency)
	offered.Misbehave(origintest.Zip, fault, -1)
	o := pull.ManyOptions{Options: pull.Options{Concurrency: concurrency}}
	for _, r := range pullMany(t, src, requirements(t, names...), o) {
		if r.Err != nil {
			t.Error(r.Err)
		}
	}
	if most() != concurrency {
		t.Errorf("%d zips at once", most())
	}
}

// TestLastAttemptRunsExclusively checks that a zip releases its slot before the last attempt.
func TestLastAttemptRunsExclusively(t *testing.T) {
	t.Parallel()
	offered, src := offer(t, schedule.MaxSmall+1, "acme/one")
	offered.Misbehave(origintest.Zip, origintest.Status(http.StatusInternalServerError), 2)
	held, acquired := 0, 0
	o := pull.ManyOptions{Options: pull.Options{
		Backoff: func(int) time.Duration { return 0 },
		Acquire: func(context.Context, int64) (func(), error) {
			if held++; held > 1 {
				t.Error("the last attempt kept its slot while it acquired all slots")
			}
			acquired++
			return func() { held-- }, nil
		},
	}}
	if results := pullMany(t, src, requirements(t, "acme/one"), o); results[0].Err != nil {
		t.Error(results[0].Err)
	}
	if acquired != 2 || held != 0 {
		t.Errorf("%d slots were acquired, %d were not released", acquired, held)
	}
}

// TestManyInterrupted checks that no release is started after cancellation.
func TestManyInterrupted(t *testing.T) {
	t.Parallel()
	_, src := offer(t, 1000, "acme/one")
	sink, err := pull.NewSink(pull.LayoutZip, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = pull.Many(ctx, src, sink, requirements(t, "acme/one"), pull.ManyOptions{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
