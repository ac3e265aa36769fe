package repository

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"sync/atomic"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// Blob opens a blob. Its content is not verified. Blobs of 16 MiB and more are read
// over several connections, unless the registry has previously refused range requests.
// Reading fails when ctx is canceled. The caller must close the blob.
func (r *remoteRepository) Blob(ctx context.Context, d ocispec.Descriptor) (io.ReadCloser, error) {
	if 0 <= d.Size && d.Size <= httpclient.MaxAhead {
		return r.smallBlob(ctx, d)
	}
	if d.Size < transfer.MinRanged || r.rangeRefusals.Load() >= maxRangeRefusals {
		return r.fetchBlob(ctx, d)
	}
	at := r.blobURL(d)
	var version atomic.Pointer[transfer.Validator]
	return transfer.NewRangeReader(ctx, transfer.RangeSource{
		Size: d.Size,
		Open: func(ctx context.Context, part transfer.Range) (io.ReadCloser, error) {
			resp, err := r.requestRange(ctx, at, part)
			if err != nil {
				return nil, err
			}
			// All responses must contain the same version of the blob as the first
			// response.
			first := transfer.ValidatorOf(resp)
			version.CompareAndSwap(nil, &first)
			if err := part.Check(resp, *version.Load()); err != nil {
				_ = resp.Body.Close()
				return nil, err
			}
			return resp.Body, nil
		},
		Whole: func(ctx context.Context) (io.ReadCloser, error) { return r.fetchBlob(ctx, d) },
		Pause: func(ctx context.Context, failed int, cause error) error {
			return httpclient.Pause(ctx, r.http, at, failed, cause)
		},
		OnRefused: r.rangesRefused,
	}, r.buffers)
}

// maxRangeRefusals is the number of responses from a busy registry after which blobs
// are read over one connection. A single response could be caused by a temporary
// overload.
const maxRangeRefusals = 3

// rangesRefused records the reason a blob could not be read in ranges. Reasons other
// than a busy registry are permanent.
func (r *remoteRepository) rangesRefused(why error) {
	if errors.Is(why, transfer.ErrLimited) {
		r.rangeRefusals.Add(1)
		return
	}
	r.rangeRefusals.Store(maxRangeRefusals)
}

func (r *remoteRepository) fetchBlob(ctx context.Context, d ocispec.Descriptor) (io.ReadCloser, error) {
	body, err := r.remote.Blobs().Fetch(ctx, d)
	if err != nil {
		return nil, r.fail("fetching blob", d.Digest.String(), err)
	}
	return body, nil
}

// smallBlob reads a blob into memory and repeats interrupted requests, because many
// callers that read documents don't retry.
func (r *remoteRepository) smallBlob(ctx context.Context, d ocispec.Descriptor) (io.ReadCloser, error) {
	var data []byte
	err := r.retrier.Do(ctx, "fetching blob "+d.Digest.String(), func() error {
		body, err := r.fetchBlob(ctx, d)
		if err != nil {
			return err
		}
		defer func() { _ = body.Close() }()
		// One extra byte reveals that the blob is too large.
		if data, err = io.ReadAll(io.LimitReader(body, d.Size+1)); err != nil {
			return r.fail("fetching blob", d.Digest.String(), err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

// blobURL returns the URL of a blob:
// https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#pulling-blobs
func (r *remoteRepository) blobURL(d ocispec.Descriptor) *url.URL {
	return r.url("blobs", d.Digest.String())
}

// requestRange requests a range of a blob once, on a dedicated connection. It always
// requests the registry's URL instead of the redirect target, because the registry
// authorizes each request and its signed URLs expire.
func (r *remoteRepository) requestRange(ctx context.Context, at *url.URL, part transfer.Range) (*http.Response, error) {
	ctx = httpclient.WithDedicatedConnection(httpclient.WithoutRetry(ctx))
	resp, err := r.request(ctx, http.MethodGet, at, http.Header{"Range": {part.Header()}})
	if err == nil && resp.StatusCode >= http.StatusMultipleChoices {
		return nil, httpclient.NewStatusError(resp)
	}
	return resp, err
}

// partsReader verifies a blob that is read in ranges. If the content is wrong, the next
// attempt reads the blob over one connection, because some caches mix up ranges.
type partsReader struct {
	io.ReadCloser
	parts *transfer.RangeReader
}

func (r *partsReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if _, wrong := errors.AsType[*sums.MismatchError](err); wrong && r.parts.ReportMismatch(err) {
		return n, &httpclient.RetryableError{Err: err}
	}
	return n, err
}
