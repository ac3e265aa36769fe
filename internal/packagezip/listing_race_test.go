package packagezip_test

import (
	"sync"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/packagezip"
)

// TestListingIsConcurrent checks, with the race detector, that the contents can be read
// while a request still sends the archive.
func TestListingIsConcurrent(t *testing.T) {
	t.Parallel()
	var listing packagezip.Listing
	var group sync.WaitGroup
	group.Go(func() {
		for range 100 {
			_, _ = listing.Write(make([]byte, 10_000))
		}
	})
	for range 100 {
		if _, ok := listing.Contents(); ok {
			t.Error("zeros are an archive")
		}
	}
	group.Wait()
}
