package mirror_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/mirror"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// TestRunReportsImmediately delays the first release until OnFinish has been called for
// the second release. It also checks that a requirement without versions causes only a
// call of OnFinish.
func TestRunReportsImmediately(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	w := newWorld(t, registrytest.Options{}, 2, 1000)
	second := make(chan struct{})
	src := withheld{w.source(), func(ctx context.Context, v provider.Version) error {
		if v.String() == "1.1.0" {
			select {
			case <-second:
			case <-ctx.Done():
			}
		}
		return nil
	}}
	var mu sync.Mutex
	var started, ended, done []string
	err := mirror.Run(t.Context(), src, []provider.Requirement{{Address: w.address}, w.requirement(t, "acme/sled")}, mirror.Options{
		Target: w.target,
		OnStart: func(i mirror.Item) {
			mu.Lock()
			defer mu.Unlock()
			started = append(started, i.Version.String())
		},
		OnFinish: func(r mirror.Result) {
			mu.Lock()
			defer mu.Unlock()
			if r.Err == nil {
				ended = append(ended, r.Item.Version.String()+" "+string(r.Published.Status))
			} else {
				ended = append(ended, r.Item.Requirement.Address.Type)
			}
			if r.Item.Version.String() == "1.0.0" {
				close(second)
			}
		},
		OnResult: func(r mirror.Result) { done = append(done, r.Item.Version.String()) },
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(started)
	if diff := cmp.Diff([]string{"1.0.0", "1.1.0"}, started); diff != "" {
		t.Errorf("started (-want +got)\n%s", diff)
	}
	// The order of the requirement without versions is not deterministic.
	without := slices.DeleteFunc(slices.Clone(ended), func(s string) bool { return s == "sled" })
	if diff := cmp.Diff([]string{"1.0.0 created", "1.1.0 created"}, without); diff != "" || len(ended) != 3 {
		t.Errorf("%d ended (-want +got)\n%s", len(ended), diff)
	}
	if len(done) != 3 || done[0] != "1.1.0" || done[1] != "1.0.0" {
		t.Errorf("done %q", done)
	}
}
