package repository_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// sending counts the bytes of request bodies that the transport reads.
type sending struct {
	http.RoundTripper
	bytes atomic.Int64
}

func (s *sending) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil && req.Body != http.NoBody {
		req = req.Clone(req.Context())
		req.Body = &counted{req.Body, &s.bytes}
	}
	return s.RoundTripper.RoundTrip(req)
}

type counted struct {
	io.ReadCloser
	bytes *atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.bytes.Add(int64(n))
	return n, err
}

// pushLarge pushes the large blob with retries and counts the bytes sent.
func (s *server) pushLarge(t *testing.T, content []byte) (sent int64, tries int, err error) {
	t.Helper()
	client := *s.options.HTTP
	counting := &sending{RoundTripper: client.Transport}
	client.Transport = counting
	s.options.HTTP = &client
	repo := s.open(t)
	retrier := transfer.Retrier{
		Backoff:  func(int) time.Duration { return 0 },
		Progress: provider.Progress{Retry: func(_ string, err error) { t.Log(err) }},
	}
	err = retrier.Do(t.Context(), "sending", func() error {
		tries++
		d := largeDescriptor()
		verified := sums.NewReadCloser(io.NopCloser(bytes.NewReader(content)), "thing.zip", d.Size, d.Digest)
		moving := transfer.Start(provider.Progress{}, provider.Package{}, d.Size, verified)
		return moving.End(repo.PushBlob(t.Context(), d, moving))
	})
	return counting.bytes.Load(), tries, err
}

// TestInterruptedUpload checks that an interrupted upload is resumed, regardless of
// where it stopped.
func TestInterruptedUpload(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	size := largeDescriptor().Size
	for percent := int64(10); percent <= 100; percent += 10 {
		t.Run(fmt.Sprintf("%d%%", percent), func(t *testing.T) {
			t.Parallel()
			s := newServer(t, registrytest.Options{Resumable: true, Username: "user", Password: "secret"})
			s.options.Credential = func(context.Context, string) (repository.Credential, error) {
				return repository.Credential{Username: "user", Password: "secret"}, nil
			}
			s.Misbehave(registrytest.UploadPut, registrytest.CutUpload(size*percent/100), 1)
			sent, tries, err := s.pushLarge(t, largeBlob())
			if err != nil || tries != 2 || !s.HasBlob(repositoryName, largeDescriptor().Digest.String()) {
				t.Fatalf("got %v after %d tries, want success after 2", err, tries)
			}
			if sent >= size*3/2 || s.Received() != size {
				t.Errorf("%d bytes sent and %d received for a blob of %d", sent, s.Received(), size)
			}
			if n := s.Requests(); n[registrytest.UploadPost] != 2 || n[registrytest.UploadGet] != 1 {
				t.Errorf("requests: %v", n) // the first POST has no credentials
			}
		})
	}
}

// TestUploadCannotBeResumed checks that the blob is sent again if the registry reports
// an implausible upload state or rejects the remaining bytes.
func TestUploadCannotBeResumed(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	half := largeDescriptor().Size / 2
	cut := registrytest.CutUpload(half)
	elsewhere := func(w http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) {
		w.Header().Set("Location", "https://elsewhere.example.com/upload")
		w.Header().Set("Range", "0-1048575")
		w.WriteHeader(http.StatusNoContent)
	}
	for name, test := range map[string]struct {
		status, put origintest.Fault
		tries       int
	}{
		"unknown upload":           {origintest.Status(http.StatusNotFound), cut, 2},
		"method not allowed":       {origintest.Status(http.StatusMethodNotAllowed), cut, 2},
		"server error":             {origintest.Status(http.StatusInternalServerError), cut, 2},
		"reset":                    {origintest.Reset(0), cut, 2},
		"HTML page":                {origintest.HTML("Sign in"), cut, 2},
		"redirected":               {origintest.Redirect("https://elsewhere.example.com/"), cut, 2},
		"location on another host": {elsewhere, cut, 2},
		"no range":                 {origintest.Rewrite("Range", ""), cut, 2},
		"empty range":              {origintest.Rewrite("Range", "0-0"), cut, 2},
		"range without the start":  {origintest.Rewrite("Range", "5-1000"), cut, 2},
		"more than sent":           {origintest.Rewrite("Range", fmt.Sprintf("0-%d", largeDescriptor().Size-1)), registrytest.CutUpload(1 << 10), 2},
		"more than the blob":       {origintest.Rewrite("Range", fmt.Sprintf("0-%d", largeDescriptor().Size)), cut, 2},
		"less than received":       {origintest.Rewrite("Range", fmt.Sprintf("0-%d", half-2)), cut, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, registrytest.Options{Resumable: true})
			s.Misbehave(registrytest.UploadGet, test.status, -1)
			s.Misbehave(registrytest.UploadPut, test.put, 1)
			_, tries, err := s.pushLarge(t, largeBlob())
			if err != nil || tries != test.tries || !s.HasBlob(repositoryName, largeDescriptor().Digest.String()) {
				t.Errorf("got %v after %d tries, want success after %d", err, tries, test.tries)
			}
		})
	}
}

// TestResumedUploadFails checks that an upload succeeds in the end if its resumed part
// is interrupted, is rejected, or does not match the bytes that the registry has.
func TestResumedUploadFails(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	size := largeDescriptor().Size
	// damaged corrupts the first byte.
	damaged := func(w http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader([]byte{largeBlob()[0] ^ 1}), &skipped{r: r.Body, n: 1}), r.Body}
		registrytest.CutUpload(size/2)(w, r, honest)
	}
	// restOnly stores the remaining bytes of the upload as if they were the complete
	// blob.
	restOnly := func(s *server) origintest.Fault {
		return func(w http.ResponseWriter, r *http.Request, _ http.HandlerFunc) {
			rest, _ := io.ReadAll(r.Body)
			s.AddBlob(repositoryName, r.URL.Query().Get("digest"), rest)
			w.WriteHeader(http.StatusCreated)
		}
	}
	for name, test := range map[string]struct {
		first, second origintest.Fault
		received      int64
	}{
		"interrupted again":       {registrytest.CutUpload(size / 3), registrytest.CutUpload(size / 3), size},
		"rejected":                {registrytest.CutUpload(size / 2), registrytest.Refuse(http.StatusRequestedRangeNotSatisfiable, "RANGE_INVALID", "no"), size/2 + size},
		"first part damaged":      {damaged, from(0, 0, nil), size + size},
		"rest stored as the blob": {registrytest.CutUpload(size / 2), nil, size/2 + size},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, registrytest.Options{Resumable: true})
			s.Misbehave(registrytest.UploadPut, test.first, 1)
			if test.second == nil {
				test.second = restOnly(s)
			}
			s.Misbehave(registrytest.UploadPut, test.second, 1)
			sent, tries, err := s.pushLarge(t, largeBlob())
			// The number of sent bytes depends on the socket buffers, but the number of
			// received bytes does not.
			if received := s.Received(); err != nil || tries != 3 || received != test.received || sent > size*3 {
				t.Errorf("%v after %d tries, %d bytes sent, %d received, want %d received", err, tries, sent, received, test.received)
			}
			if got, err := s.open(t).Stat(t.Context(), largeDescriptor()); err != nil || got != size {
				t.Errorf("got a blob of %d bytes, %v, want %d", got, err, size)
			}
		})
	}
}

// skipped is a reader that skips the first n bytes.
type skipped struct {
	r io.Reader
	n int64
}

func (s *skipped) Read(p []byte) (int, error) {
	if s.n > 0 {
		n, err := io.CopyN(io.Discard, s.r, s.n)
		if s.n -= n; err != nil {
			return 0, err
		}
	}
	return s.r.Read(p)
}

// TestResumedUploadVerifiesContent checks that a resumed upload verifies the complete content.
func TestResumedUploadVerifiesContent(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	s := newServer(t, registrytest.Options{Resumable: true})
	s.Misbehave(registrytest.UploadPut, registrytest.CutUpload(largeDescriptor().Size/2), 1)
	wrong := bytes.Clone(largeBlob())
	wrong[0] ^= 1
	_, _, err := s.pushLarge(t, wrong)
	var mismatch *sums.MismatchError
	if !errors.As(err, &mismatch) || s.HasBlob(repositoryName, largeDescriptor().Digest.String()) || s.Received() >= largeDescriptor().Size {
		t.Errorf("%v, %d bytes received", err, s.Received())
	}
}

// TestUploadOnlyToTheRegistry checks that no content is sent if a registry's response
// or redirect refers to a different host.
func TestUploadOnlyToTheRegistry(t *testing.T) {
	t.Parallel()
	for name, lead := range map[string]func(http.ResponseWriter, *http.Request, string){
		"location": func(w http.ResponseWriter, _ *http.Request, elsewhere string) {
			w.Header().Set("Location", elsewhere+"/v2/acme/thing/blobs/uploads/1")
			w.WriteHeader(http.StatusAccepted)
		},
		"redirect": func(w http.ResponseWriter, r *http.Request, elsewhere string) {
			http.Redirect(w, r, elsewhere+r.URL.Path, http.StatusTemporaryRedirect)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, other := newServer(t, registrytest.Options{}), newServer(t, registrytest.Options{})
			s.Misbehave(registrytest.UploadPost, func(w http.ResponseWriter, r *http.Request, _ http.HandlerFunc) { lead(w, r, "https://"+other.host) }, -1)
			b := blob("content")
			if err := s.open(t).PushBlob(t.Context(), b.Descriptor, bytes.NewReader(b.Bytes)); err == nil {
				t.Error("PushBlob succeeded")
			}
			if n := s.Requests()[registrytest.UploadPut] + other.Requests()[registrytest.UploadPut]; n != 0 {
				t.Errorf("got %d requests with content, want none", n)
			}
		})
	}
}
