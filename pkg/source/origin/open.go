package origin

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// Open starts the download of a zip. If the size in the response differs from the size
// in p, Open returns a *[sums.SizeError] before anything is read. Requests are retried
// until a response begins. If the body is interrupted, the download is resumed if the
// server supports this. Otherwise, the caller must open the zip again.
func (s *Source) Open(ctx context.Context, p provider.Package) (io.ReadCloser, int64, error) {
	at, ok := p.Locator.(*url.URL)
	if !ok {
		return nil, 0, fmt.Errorf("opening %s: %w", p.Filename, provider.ErrWrongSource)
	}
	release, err := s.pool.Acquire(ctx, at.Host)
	if err != nil {
		return nil, 0, fmt.Errorf("opening %s: %w", p.Filename, err)
	}
	body, size, err := s.open(ctx, at, p)
	if err != nil {
		release()
		return nil, 0, fmt.Errorf("opening %s: %w", p.Filename, err)
	}
	return withSlot(body, size, release), size, nil
}

func (s *Source) open(ctx context.Context, at *url.URL, p provider.Package) (io.ReadCloser, int64, error) {
	req, err := zipRequest(ctx, at)
	if err != nil {
		return nil, 0, err
	}
	resp, err := httpclient.Do(s.client, req)
	if err != nil {
		return nil, 0, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, 0, httpclient.NewStatusError(resp)
	}
	contentType := resp.Header.Get("Content-Type")
	if mediaType, _, _ := mime.ParseMediaType(contentType); mediaType == "text/html" {
		failure := httpclient.NewStatusError(resp)
		return nil, 0, fmt.Errorf("expected a zip: %w", failure)
	}
	size := p.Size
	if size < 0 {
		size = resp.ContentLength
	}
	if resp.ContentLength >= 0 && resp.ContentLength != size {
		_ = resp.Body.Close()
		return nil, 0, &sums.SizeError{Name: p.Filename, Got: resp.ContentLength, Want: size}
	}
	if size > artifact.MaxZipSize {
		_ = resp.Body.Close()
		return nil, 0, fmt.Errorf("zip is %d bytes; the maximum is %d", size, int64(artifact.MaxZipSize))
	}
	bounded := &boundedBody{s.resumable(ctx, at, resp, size), artifact.MaxZipSize}
	return sums.NewReadCloser(bounded, p.Filename, size, p.Digest), size, nil
}

// resumable returns a body that resumes an interrupted download if the zip is
// unchanged. It requests the remaining bytes with a range request. It uses one
// connection and the URL that the registry returned, because hosts of releases throttle
// clients with many requests and sign URLs for a short time. The download can be
// resumed only if it has a size and a validator.
func (s *Source) resumable(ctx context.Context, at *url.URL, resp *http.Response, size int64) io.ReadCloser {
	version := transfer.ValidatorOf(resp)
	same := version.IfRange(resp.Header)
	if size < 0 || same == "" {
		return resp.Body
	}
	return &transfer.ResumedBody{
		End: size, Current: resp.Body,
		Open: func(from int64) (io.ReadCloser, error) {
			rest := transfer.Range{From: from, End: size, Size: size}
			req, err := zipRequest(httpclient.WithoutRetry(ctx), at)
			if err != nil {
				return nil, err
			}
			req.Header.Set("Range", rest.Header())
			req.Header.Set("If-Range", same)
			resp, err := httpclient.Do(s.client, req)
			if err != nil {
				return nil, err
			}
			if resp.StatusCode >= http.StatusMultipleChoices {
				return nil, httpclient.NewStatusError(resp)
			}
			if err := rest.Check(resp, version); err != nil {
				_ = resp.Body.Close()
				return nil, err
			}
			return resp.Body, nil
		},
		Pause: func(failed int, cause error) error { return httpclient.Pause(ctx, s.client, at, failed, cause) },
	}
}

func zipRequest(ctx context.Context, at *url.URL) (*http.Request, error) {
	// Without a dedicated connection, zips would share an HTTP/2 connection and its
	// flow control.
	req, err := http.NewRequestWithContext(httpclient.WithDedicatedConnection(ctx), http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, httpclient.RedactError(err)
	}
	// Otherwise, net/http requests gzip and decompresses the body, which hides its length.
	req.Header.Set("Accept-Encoding", "identity")
	return req, nil
}

// boundedBody is a body that returns an error after more than left bytes.
type boundedBody struct {
	io.ReadCloser
	left int64
}

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, fmt.Errorf("zip exceeds %d bytes", int64(artifact.MaxZipSize))
	}
	return n, err
}
