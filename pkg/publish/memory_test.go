package publish_test

import (
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// TestPublisherCachesBlobs checks two runs with a shared Publisher. They check each
// shared blob only once, but check the zips in each run.
func TestPublisherCachesBlobs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	for p := range w.zips {
		w.zips[p] = zipOf(t, p.String()+strings.Repeat(".", 64<<10))
	}
	w.offer(t, w.release(all...))
	to := w.registry(t, registrytest.Options{})
	w.shared = &publish.Publisher{}
	w.publish(t, to, publish.Created, publish.Options{})
	// The first run also checks the config, the checksums, the signature, and the keys,
	// which were missing before this run.
	for _, want := range []int{len(all) + 4, len(all)} {
		before := to.registry.Requests()[registrytest.BlobHead]
		w.publish(t, to, publish.Unchanged, publish.Options{})
		if n := to.registry.Requests()[registrytest.BlobHead] - before; n != want {
			t.Errorf("got requests for %d blobs, want %d", n, want)
		}
	}
	for kind, want := range map[registrytest.Kind]int{registrytest.Tags: 1, registrytest.BlobGet: 0} {
		if n := to.registry.Requests()[kind]; n != want {
			t.Errorf("%d requests of kind %s, not %d", n, kind, want)
		}
	}
}

// TestCheckTags checks that DepthTags uses only the list of tags, and requests it only
// once.
func TestCheckTags(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		o := publish.Options{Check: repository.DepthTags}
		w.publish(t, to, publish.Created, o)
		w.shared = &publish.Publisher{}
		before, state, lists := w.origin.Requests(), to.state(t), to.lists()
		for range 3 {
			result, err := w.run(t, to, o)
			if err != nil || result.Status != publish.Unchanged || result.Tag != "1.2.3" || result.Digest != "" || result.Packages != nil {
				t.Errorf("got %+v, %v", result, err)
			}
		}
		if requests := w.requestsSince(before); len(requests) != 0 {
			t.Errorf("unexpected requests to the origin: %v", requests)
		}
		if to.state(t) != state {
			t.Error("unexpected writes")
		}
		if n := to.lists() - lists; to.registry != nil && n != 1 {
			t.Errorf("tags were listed %d times", n)
		}
		// Runs that need the index still read the index.
		w.publish(t, to, publish.Unchanged, publish.Options{Check: repository.DepthTags, AgainstOrigin: true})
		w.publish(t, to, publish.Unchanged, publish.Options{Check: repository.DepthTags, Force: true})
	})
}

// TestCheckTagsOfBuilds checks that a local build adds its platform to an existing tag.
func TestCheckTagsOfBuilds(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		o := publish.Options{Check: repository.DepthTags}
		w.publishLocal(t, to, publish.Created, w.dist(t, nil, plan9), o)
		w.publishLocal(t, to, publish.Extended, w.dist(t, nil, haiku), o)
		w.wantStored(t, to, haiku, plan9)
	})
}

// lists returns the number of requests for the list of tags.
func (to *target) lists() int {
	if to.registry == nil {
		return 0
	}
	return to.registry.Requests()[registrytest.Tags]
}
