package repository_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// pieces is the number of 4 MiB ranges in which a reader requests the large blob.
const pieces = 6

// largeBlob returns a blob that is large enough to be read in ranges.
var largeBlob = sync.OnceValue(func() []byte {
	content := make([]byte, 23<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(content)
	return content
})

var largeDescriptor = sync.OnceValue(func() ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: artifact.MediaTypeZip, Digest: digest.FromBytes(largeBlob()), Size: int64(len(largeBlob()))}
})

// largeServer starts a registry that contains the large blob.
func largeServer(t *testing.T, o registrytest.Options) *server {
	t.Helper()
	return newServer(t, o).withLargeBlob()
}

func (s *server) withLargeBlob() *server {
	s.AddBlob(repositoryName, largeDescriptor().Digest.String(), largeBlob())
	return s
}

// readLarge reads the blob through the verifying reader.
func readLarge(ctx context.Context, repo repository.Reader) (int64, error) {
	body, err := repository.Verified(ctx, repo, largeDescriptor(), "thing.zip")
	if err != nil {
		return 0, err
	}
	defer func() { _ = body.Close() }()
	return io.Copy(io.Discard, body)
}

// from returns a fault that applies to times requests, starting with the n-th request.
// If times is negative, it applies to all following requests.
func from(n, times int, fault origintest.Fault) origintest.Fault {
	var mu sync.Mutex
	seen := 0
	return func(w http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		mu.Lock()
		seen++
		due := seen >= n && (times < 0 || seen < n+times)
		mu.Unlock()
		if !due {
			honest(w, r)
			return
		}
		fault(w, r, honest)
	}
}

// onceEach applies a fault to the first request for each range.
func onceEach(fault origintest.Fault) origintest.Fault {
	var mu sync.Mutex
	seen := map[string]bool{}
	return func(w http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		var at int64
		_, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &at)
		mu.Lock()
		due := err == nil && at%(4<<20) == 0 && !seen[r.Header.Get("Range")]
		seen[r.Header.Get("Range")] = true
		mu.Unlock()
		if !due {
			honest(w, r)
			return
		}
		fault(w, r, honest)
	}
}

// TestLargeBlob checks reads of a large blob from registries with different faults.
func TestLargeBlob(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	for name, test := range map[string]struct {
		fault origintest.Fault
		// requests and again are the maximum numbers of blob requests in the first and
		// in the second read. If the first read showed that a single stream works
		// better, again is 1.
		requests, again int
		fails           bool
		as              any
	}{
		"honest":                      {from(99, 0, nil), pieces, pieces, false, nil},
		"ignores ranges":              {origintest.IgnoreRange(), 2, 1, false, nil},
		"ignores ranges later":        {from(3, -1, origintest.IgnoreRange()), pieces + 1, 1, false, nil},
		"other bytes, and reports it": {origintest.Shift(), pieces + 1, 1, false, nil},
		"another length":              {origintest.Rewrite("Content-Range", "bytes 0-4194303/99"), 2, 1, false, nil},
		"another ETag":                {etags(), pieces + 1, 1, false, nil},
		"answers with a page, twice":  {from(2, 2, origintest.HTML("Wait")), pieces + 2, pieces, false, nil},
		"limits to one":               {from(2, pieces-1, origintest.Status(429)), pieces + 1, pieces, false, nil},
		"is busy for all others":      {from(2, pieces-1, origintest.Status(503)), pieces + 1, pieces, false, nil},
		"limits to three":             {from(4, pieces-3, origintest.Status(429, "Retry-After", "0")), pieces + 3, pieces, false, nil},
		"resets each once":            {onceEach(origintest.Reset(1<<20 + 1)), 2 * pieces, pieces, false, nil},
		"each one byte short":         {onceEach(origintest.Short(3<<20 - 1)), 2 * pieces, pieces, false, nil},
		"hangs in one":                {from(2, 1, origintest.Stall(1<<20)), pieces + 1, pieces, false, nil},
		"hangs before an answer":      {from(2, 1, origintest.Hang()), pieces + 1, pieces, false, nil},
		"refuses the first":           {from(1, 1, origintest.Status(500)), 2, pieces, false, nil},
		"other bytes":                 {from(2, 1, origintest.FlipBit(9)), pieces, 1, true, new(*sums.MismatchError)},
		"is gone":                     {origintest.Status(404), 2, 2, true, new(*repository.Error)},
		"is gone after the first":     {from(2, -1, origintest.Status(404)), pieces + 1, 2, true, new(*provider.StatusError)},
		"busy from the second on":     {from(2, -1, origintest.Status(503)), pieces + 3, 4, true, new(*provider.StatusError)},
		"always breaks off":           {origintest.Short(1), 3 * pieces, 3 * pieces, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newMemoryServer(t, registrytest.Options{}).withLargeBlob()
				s.Misbehave(registrytest.BlobGet, test.fault, -1)
				repo := s.open(t)
				n, err := readLarge(t.Context(), repo)
				if (err != nil) != test.fails || err == nil && n != largeDescriptor().Size || test.fails && n >= largeDescriptor().Size {
					t.Errorf("%d of %d bytes, %v", n, largeDescriptor().Size, err)
				}
				if test.as != nil && !errors.As(err, test.as) {
					t.Errorf("want a %T, got %v", test.as, err)
				}
				requests := s.Requests()[registrytest.BlobGet]
				if requests > test.requests {
					t.Errorf("%d requests, at most %d", requests, test.requests)
				}
				_, _ = readLarge(t.Context(), repo)
				// A canceled request of the first read can arrive late.
				if both := s.Requests()[registrytest.BlobGet]; both > test.requests+test.again {
					t.Errorf("%d requests in both times, at most %d", both, test.requests+test.again)
				}
			})
		})
	}
}

// TestLargeBlobsOfABusyRegistry checks that ranges are used again after a registry was
// busy once or twice, but not after it was busy three times.
func TestLargeBlobsOfABusyRegistry(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	s := largeServer(t, registrytest.Options{})
	repo := s.open(t)
	read := func(fault origintest.Fault) (requests int) {
		s.Behave()
		s.Misbehave(registrytest.BlobGet, fault, -1)
		before := s.Requests()[registrytest.BlobGet]
		if n, err := readLarge(t.Context(), repo); err != nil || n != largeDescriptor().Size {
			t.Errorf("%d bytes, %v", n, err)
		}
		return s.Requests()[registrytest.BlobGet] - before
	}
	busy := func() origintest.Fault { return from(2, 1, origintest.Status(503)) }
	honest := from(0, 0, nil)
	for i, want := range []bool{true, true, false} {
		if read(busy()) == 1 {
			t.Errorf("blob %d came in one stream", i)
		}
		if parts := read(honest) > 1; parts != want {
			t.Errorf("after being busy %d times it is read in parts: %t", i+1, parts)
		}
	}
}

// TestLargeBlobOfWrongParts checks that a digest mismatch is transient if the blob was
// read in ranges, and permanent if it was read in a single stream.
func TestLargeBlobOfWrongParts(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	s := largeServer(t, registrytest.Options{})
	s.Misbehave(registrytest.BlobGet, origintest.FlipBit(9), -1)
	repo := s.open(t)
	for again, want := range []bool{true, false} {
		var mismatch *sums.MismatchError
		_, err := readLarge(t.Context(), repo)
		if !errors.As(err, &mismatch) || httpclient.IsTransient(err) != want {
			t.Errorf("after %d: transient should be %t: %v", again, want, err)
		}
	}
	if n := s.Requests()[registrytest.BlobGet]; n != pieces+1 {
		t.Errorf("%d requests", n)
	}
	// A retry gets the correct blob.
	s = largeServer(t, registrytest.Options{})
	s.Misbehave(registrytest.BlobGet, func(w http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		if r.Header.Get("Range") == "" {
			honest(w, r)
			return
		}
		origintest.FlipBit(9)(w, r, honest)
	}, -1)
	repo = s.open(t)
	err := transfer.Retrier{Backoff: func(int) time.Duration { return 0 }}.Do(t.Context(), "reading", func() error {
		_, err := readLarge(t.Context(), repo)
		return err
	})
	if n := s.Requests()[registrytest.BlobGet]; err != nil || n != pieces+1 {
		t.Errorf("%v after %d requests", err, n)
	}
}

// etags sets a different ETag in each response, like a server farm that derives ETags
// from file locations.
func etags() origintest.Fault {
	var mu sync.Mutex
	n := 0
	return func(w http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		mu.Lock()
		n++
		tag := fmt.Sprintf(`"%d"`, n)
		mu.Unlock()
		origintest.Rewrite("ETag", tag)(w, r, honest)
	}
}

// TestSmallBlobsNeedOneRequest checks that a blob below the size limit for ranges is
// read in one request.
func TestSmallBlobsNeedOneRequest(t *testing.T) {
	t.Parallel()
	s := newServer(t, registrytest.Options{})
	content := largeBlob()[:16<<20-1]
	d := ocispec.Descriptor{Digest: digest.FromBytes(content), Size: int64(len(content))}
	s.AddBlob(repositoryName, d.Digest.String(), content)
	body, err := repository.Verified(t.Context(), s.open(t), d, "thing.zip")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = body.Close() }()
	if n, err := io.Copy(io.Discard, body); n != d.Size || err != nil || s.Requests()[registrytest.BlobGet] != 1 {
		t.Errorf("%d bytes, %v, %v", n, err, s.Requests())
	}
}
