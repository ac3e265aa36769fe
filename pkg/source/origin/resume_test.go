package origin_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// large returns a zip of slightly more than 1 MiB.
func large(t *testing.T) []byte {
	t.Helper()
	text := make([]byte, 1<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(text)
	return zipOf(t, string(text))
}

// resumption describes the server's faults and the expected result.
type resumption struct {
	name     string
	faults   []origintest.Fault // faults of the first requests; subsequent requests succeed
	options  origintest.Options
	requests int
	// transient specifies whether Open can be retried after the failure. It is nil if
	// the download succeeds.
	transient *bool
	as        any
}

func resumptions(size int64) []resumption {
	yes, no := new(true), new(false)
	tagged := origintest.Options{ETags: true}
	broken := origintest.Reset(size / 2)
	all := []resumption{
		{"one byte short", []origintest.Fault{origintest.Short(size - 1)}, tagged, 2, nil, nil},
		{"two breaks", []origintest.Fault{broken, origintest.Short(size / 4)}, tagged, 3, nil, nil},
		{"three breaks", []origintest.Fault{broken, origintest.Reset(9), origintest.Reset(9)}, tagged, 3, yes, nil},
		{"a hang", []origintest.Fault{origintest.Stall(size / 2)}, tagged, 2, nil, nil},
		{"busy after the break", []origintest.Fault{broken, origintest.Status(503)}, tagged, 3, nil, nil},
		{"busy for long", []origintest.Fault{broken, origintest.Status(429, "Retry-After", "3600")}, tagged, 2, yes, nil},
		{"gone", []origintest.Fault{broken, origintest.Status(404)}, tagged, 2, yes, nil},
		{"range ignored", []origintest.Fault{broken, origintest.IgnoreRange()}, tagged, 2, yes, nil},
		{"another ETag", []origintest.Fault{broken, origintest.Rewrite("ETag", `"other"`)}, tagged, 2, yes, nil},
		{"another range", []origintest.Fault{broken, origintest.Shift()}, tagged, 2, yes, nil},
		{"another length", []origintest.Fault{broken, origintest.Rewrite("Content-Range", fmt.Sprintf("bytes %d-%d/%d", size/2, size, size+1))}, tagged, 2, yes, nil},
		{"other bytes", []origintest.Fault{broken, origintest.FlipBit(1)}, tagged, 2, no, new(*sums.MismatchError)},
		{"a weak ETag", []origintest.Fault{weakly(broken)}, tagged, 1, yes, nil},
		{"no validator", []origintest.Fault{broken}, origintest.Options{}, 1, yes, nil},
		{"a date", []origintest.Fault{dated(broken), dated(nil)}, origintest.Options{}, 2, nil, nil},
		{"no size stated", []origintest.Fault{broken}, origintest.Options{ETags: true, NoPackages: true}, 2, nil, nil},
	}
	for tenth := int64(1); tenth < 10; tenth++ {
		all = append(all, resumption{fmt.Sprintf("reset at %d %%", 10*tenth), []origintest.Fault{origintest.Reset(size * tenth / 10)}, tagged, 2, nil, nil})
	}
	return all
}

// weakly responds with a weak ETag, which is not valid for ranges.
func weakly(fault origintest.Fault) origintest.Fault {
	return func(w http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		fault(w, r, func(w http.ResponseWriter, r *http.Request) { origintest.Rewrite("ETag", `W/"weak"`)(w, r, honest) })
	}
}

// dated responds with a Last-Modified date, and serves ranges for this date.
func dated(fault origintest.Fault) origintest.Fault {
	const date = "Sat, 01 Feb 1997 03:04:05 GMT" // earlier than the time in a bubble
	return func(w http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		if r.Header.Get("Range") != "" && r.Header.Get("If-Range") != date {
			http.Error(w, "which one?", http.StatusPreconditionFailed)
			return
		}
		r = r.Clone(r.Context())
		r.Header.Del("If-Range") // the handler does not support dates
		w.Header().Set("Last-Modified", date)
		if fault == nil {
			honest(w, r)
			return
		}
		fault(w, r, honest)
	}
}

// TestZipResumes checks server faults during a download.
func TestZipResumes(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	zip := large(t)
	for _, test := range resumptions(int64(len(zip))) {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newMemoryWorld(t, test.options)
				w.add(t, origintest.Release{Version: "2.0.0", Archives: map[provider.Platform]origintest.Archive{haiku: {Bytes: zip}}})
				for _, fault := range test.faults {
					w.origin.Misbehave(origintest.Zip, fault, 1)
				}
				got, err := w.download(t.Context(), t, "2.0.0")
				switch {
				case test.transient == nil:
					if err != nil || !bytes.Equal(got, zip) {
						t.Errorf("%d of %d bytes came, %v", len(got), len(zip), err)
					}
				case err == nil || httpclient.IsTransient(err) != *test.transient || len(got) >= len(zip):
					t.Errorf("%d of %d bytes came, transient should be %t: %v", len(got), len(zip), *test.transient, err)
				case test.as != nil && !errors.As(err, test.as):
					t.Errorf("want a %T, got %v", test.as, err)
				}
				if n := w.origin.Requests()[origintest.Zip]; n != test.requests {
					t.Errorf("%d requests, not %d", n, test.requests)
				}
			})
		})
	}
}

// download reads the zip of a version for haiku.
func (w *world) download(ctx context.Context, t *testing.T, of string) ([]byte, error) {
	t.Helper()
	s := w.source()
	r, err := s.Release(ctx, w.address, version(t, of), haiku)
	if err != nil {
		t.Fatal(err)
	}
	body, _, err := s.Open(ctx, r.Packages[0])
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	return io.ReadAll(body)
}

// TestZipResumeErrors checks the error message if a download can't be resumed.
func TestZipResumeErrors(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{ETags: true})
	w.origin.Misbehave(origintest.Zip, origintest.Short(40), 1)
	w.origin.Misbehave(origintest.Zip, origintest.IgnoreRange(), 1)
	_, err := w.download(t.Context(), t, "1.2.3")
	size := len(w.zips[haiku])
	want := fmt.Sprintf("reading terraform-provider-thing_1.2.3_haiku_riscv64.zip: unexpected EOF; resuming at byte 40: "+
		"response does not match the requested range: got 200 OK, want bytes 40-%d/%d", size-1, size)
	if w.text(err) != want {
		t.Errorf("got %v, want %s", w.text(err), want)
	}
}

// TestZipCanceled checks that canceling the context ends a download that hangs. No
// more requests are sent.
func TestZipCanceled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{ETags: true})
	ctx, cancel := context.WithCancel(t.Context())
	w.origin.Misbehave(origintest.Zip, func(rw http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		origintest.Stall(40)(rw, r.WithContext(canceled(r.Context())), honest)
		cancel()
		<-r.Context().Done()
	}, -1)
	if _, err := w.download(ctx, t, "1.2.3"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if n := w.origin.Requests()[origintest.Zip]; n != 1 {
		t.Errorf("%d requests", n)
	}
}

// canceled returns a canceled context.
func canceled(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	return ctx
}
