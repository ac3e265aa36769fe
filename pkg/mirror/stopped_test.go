package mirror_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/mirror"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
)

// withheld is a source whose Release method first calls hold, which can block or return
// an error.
type withheld struct {
	provider.Source
	hold func(ctx context.Context, v provider.Version) error
}

func (s withheld) Release(ctx context.Context, a provider.Address, v provider.Version, only ...provider.Platform) (provider.Release, error) {
	if err := s.hold(ctx, v); err != nil {
		return provider.Release{}, err
	}
	return s.Source.Release(ctx, a, v, only...)
}

var errWithheld = errors.New("withheld")

// TestRunFailFast checks FailFast. After a failure, Run finishes the releases in
// progress and starts no further releases. Without FailFast, Run processes all
// releases.
func TestRunFailFast(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	const versions = schedule.MaxItems + 5
	for name, test := range map[string]struct {
		failFast bool
		want     int
	}{"fail fast": {true, schedule.MaxItems}, "go on": {false, versions}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, registrytest.Options{}, versions, 1000)
			var started atomic.Int32
			all, failed := make(chan struct{}), make(chan struct{})
			src := withheld{w.source(), func(_ context.Context, v provider.Version) error {
				if started.Add(1) == schedule.MaxItems {
					close(all)
				}
				if v.String() == "1.36.0" {
					<-all
					return errWithheld
				}
				<-failed
				return nil
			}}
			results := w.run(t, src, mirror.Options{FailFast: test.failFast, OnResult: func(r mirror.Result) {
				if r.Err != nil {
					close(failed)
				}
			}})
			wantVersions(t, results, versions-1, test.want)
			if !errors.Is(results[0].Err, errWithheld) {
				t.Errorf("got error %v for the first item", results[0].Err)
			}
			for _, r := range results[1:] {
				if r.Err != nil || r.Published.Status != publish.Created {
					t.Errorf("%s: %s %v", r.Item.Version, r.Published.Status, r.Err)
				}
			}
		})
	}
}

// TestRunFailFastPlan checks that Run starts nothing if planning fails for a
// requirement.
func TestRunFailFastPlan(t *testing.T) {
	t.Parallel()
	w := newWorld(t, registrytest.Options{}, 2, 1000)
	wanted := []provider.Requirement{{Address: w.address}, w.requirement(t, "acme/sled"), w.requirement(t, "acme/rocket@> 7")}
	var results []mirror.Result
	ended := 0
	err := mirror.Run(t.Context(), w.source(), wanted, mirror.Options{
		FailFast: true, Target: w.target,
		OnStart: func(i mirror.Item) { t.Errorf("%s was started", i.Version) }, OnFinish: func(mirror.Result) { ended++ },
		OnResult: func(r mirror.Result) { results = append(results, r) },
	})
	if err != nil || ended != 2 || len(results) != 2 || !errors.Is(results[0].Err, provider.ErrProviderNotFound) || !errors.Is(results[1].Err, provider.ErrVersionNotFound) {
		t.Errorf("%v %v", err, results)
	}
	if n := w.registry.Requests(); len(n) != 1 || n[registrytest.Tags] != 1 {
		t.Errorf("got requests %v to the registry, want those for denied content", n)
	}
}

// TestRunInterrupted checks that a canceled Run starts no further releases, and that it
// reports the results of started releases.
func TestRunInterrupted(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	const versions = schedule.MaxItems + 5
	w := newWorld(t, registrytest.Options{}, versions, 1000)
	ctx, interrupt := context.WithCancel(t.Context())
	var started atomic.Int32
	all := make(chan struct{})
	src := withheld{w.source(), func(ctx context.Context, v provider.Version) error {
		if started.Add(1) == schedule.MaxItems+1 {
			close(all)
		}
		if v.String() == "1.36.0" {
			return nil
		}
		<-ctx.Done()
		return ctx.Err()
	}}
	var results []mirror.Result
	ended := make(chan error, 1)
	go func() {
		ended <- mirror.Run(ctx, src, []provider.Requirement{{Address: w.address}}, mirror.Options{
			Target: w.target, OnResult: func(r mirror.Result) { results = append(results, r) },
		})
	}()
	<-all
	interrupt()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	// The first release finished, so one more release was started.
	wantVersions(t, results, versions-1, schedule.MaxItems+1)
	for i, r := range results {
		if i == 0 && r.Err != nil || i > 0 && !errors.Is(r.Err, context.Canceled) {
			t.Errorf("%s: %s %v", r.Item.Version, r.Published.Status, r.Err)
		}
	}
}
