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
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// Blob opens a blob; its bytes are not verified yet. From 16 MiB on it comes over
// several connections, unless the registry has turned out not to like that. Reading
// ends with the context, and the blob has to be closed.
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
			// The first answer says which version the others have to be of.
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

// maxRefusals is how often a registry may be too busy for several connections. One
// moment says little of the rest of a run.
const maxRangeRefusals = 3

// refused counts why a blob did not come in parts. What is no matter of the moment
// counts for good.
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

// smallBlob reads a blob that the client has in memory anyway, and asks again when
// it breaks off: documents are read by many who have no tries of their own.
func (r *remoteRepository) smallBlob(ctx context.Context, d ocispec.Descriptor) (io.ReadCloser, error) {
	var data []byte
	err := r.retrier.Do(ctx, "fetching blob "+d.Digest.String(), func() error {
		body, err := r.fetchBlob(ctx, d)
		if err != nil {
			return err
		}
		defer func() { _ = body.Close() }()
		// One byte more shows that there are too many.
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

// blobURL is where a registry has its blobs:
// https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#pulling-blobs
func (r *remoteRepository) blobURL(d ocispec.Descriptor) *url.URL {
	return r.url("blobs", d.Digest.String())
}

// url returns that of something in the repository.
func (r *remoteRepository) url(path ...string) *url.URL {
	at := &url.URL{Scheme: "https", Host: r.remote.Reference.Host()}
	if r.remote.PlainHTTP {
		at.Scheme = "http"
	}
	return at.JoinPath(append([]string{"v2", r.remote.Reference.Repository}, path...)...)
}

// ask asks once for a part of a blob, on a connection of its own. It is the
// registry that is asked each time, not where it redirects to: it decides who may
// read, and the URLs that it signs expire.
func (r *remoteRepository) requestRange(ctx context.Context, at *url.URL, part transfer.Range) (*http.Response, error) {
	ctx = auth.AppendRepositoryScope(httpclient.WithDedicatedConnection(httpclient.WithoutRetry(ctx)), r.remote.Reference, auth.ActionPull)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Range", part.Header())
	resp, err := r.remote.Client.Do(req)
	switch {
	case err != nil:
		return nil, httpclient.RedactError(err)
	case resp.StatusCode >= http.StatusMultipleChoices:
		return nil, httpclient.NewStatusError(resp)
	}
	return resp, nil
}

// partsReader verifies a blob that comes in parts. Wrong bytes are worth another
// go, which is then in one stream: it may be the parts that are wrong, as with
// caches that take one range for another.
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
