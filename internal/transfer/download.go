package transfer

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// Downloader downloads archives from web servers.
type Downloader struct {
	Client *http.Client
	// Pool limits concurrent requests to each host.
	Pool *schedule.Limiter
}

// Open starts the download of a package's zip. It returns the size of the zip in bytes,
// or -1 if it is unknown. The content is limited to [artifact.MaxZipSize], but not
// verified. If the size in the response differs from the size in p, Open returns a
// *[sums.SizeError] before anything is read. Requests are retried until a response
// begins. If the body is interrupted, the download is resumed if the server supports
// this. Otherwise, the caller must open the zip again. header can be nil.
func (d Downloader) Open(ctx context.Context, at *url.URL, header http.Header, p provider.Package) (io.ReadCloser, int64, error) {
	release, err := d.Pool.Acquire(ctx, at.Host)
	if err != nil {
		return nil, 0, fmt.Errorf("opening %s: %w", p.Filename, err)
	}
	body, size, err := d.openZip(ctx, at, header, p)
	if err != nil {
		release()
		return nil, 0, fmt.Errorf("opening %s: %w", p.Filename, err)
	}
	return withRequestSlot(body, size, release), size, nil
}

// OpenArchive starts the download of an archive in any format. header can be nil.
func (d Downloader) OpenArchive(ctx context.Context, at *url.URL, header http.Header) (io.ReadCloser, error) {
	release, err := d.Pool.Acquire(ctx, at.Host)
	if err != nil {
		return nil, err
	}
	resp, err := d.get(ctx, at, header) //nolint:bodyclose // slotted closes the body
	if err != nil {
		release()
		return nil, err
	}
	return &slotted{resp.Body, release}, nil
}

func (d Downloader) openZip(ctx context.Context, at *url.URL, header http.Header, p provider.Package) (io.ReadCloser, int64, error) {
	resp, err := d.get(ctx, at, header)
	if err != nil {
		return nil, 0, err
	}
	if mediaType, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); mediaType == "text/html" {
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
	return &boundedBody{d.resumable(ctx, at, header, resp, size), artifact.MaxZipSize}, size, nil
}

// get requests an archive and returns a response with status 200.
func (d Downloader) get(ctx context.Context, at *url.URL, header http.Header) (*http.Response, error) {
	req, err := archiveRequest(ctx, at, header)
	if err != nil {
		return nil, err
	}
	resp, err := httpclient.Do(d.Client, req)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = httpclient.NewStatusError(resp)
	}
	return resp, err
}

// resumable returns a body that resumes an interrupted download if the zip is
// unchanged. It requests the remaining bytes with a range request. It uses one
// connection and the URL that the registry returned, because release hosts throttle
// clients with many requests, and their signed URLs expire soon. The download can be
// resumed only if it has a size and a validator.
func (d Downloader) resumable(ctx context.Context, at *url.URL, header http.Header, resp *http.Response, size int64) io.ReadCloser {
	version := ValidatorOf(resp)
	same := version.IfRange(resp.Header)
	if size < 0 || same == "" {
		return resp.Body
	}
	return &ResumedBody{
		End: size, Current: resp.Body,
		Open: func(from int64) (io.ReadCloser, error) {
			rest := Range{From: from, End: size, Size: size}
			req, err := archiveRequest(httpclient.WithoutRetry(ctx), at, header)
			if err != nil {
				return nil, err
			}
			req.Header.Set("Range", rest.Header())
			req.Header.Set("If-Range", same)
			resp, err := httpclient.Do(d.Client, req)
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
		Pause: func(failed int, cause error) error { return httpclient.Pause(ctx, d.Client, at, failed, cause) },
	}
}

func archiveRequest(ctx context.Context, at *url.URL, header http.Header) (*http.Request, error) {
	// Without a dedicated connection, zips would share an HTTP/2 connection and its
	// flow control.
	req, err := http.NewRequestWithContext(httpclient.WithDedicatedConnection(ctx), http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, httpclient.RedactError(err)
	}
	if header != nil {
		req.Header = header.Clone()
	}
	// Without this header, net/http requests gzip and decompresses the body, which
	// hides its length.
	req.Header.Set("Accept-Encoding", "identity")
	return req, nil
}

// boundedBody is a response body that returns an error if its content exceeds a limit.
// left is the number of bytes that can still be read.
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

// slotted is an archive that occupies a request slot until it is read completely or
// closed.
type slotted struct {
	io.ReadCloser
	release func()
}

// withRequestSlot makes a small zip occupy a request slot while it is read. The
// smallest zips are read immediately, regardless of the speed of the reader. The number
// of transfers of larger zips is limited elsewhere.
func withRequestSlot(body io.ReadCloser, size int64, release func()) io.ReadCloser {
	switch {
	case size < 0 || size > schedule.MaxSmall:
		release()
		return body
	case size <= httpclient.MaxAhead:
		defer release()
		return httpclient.ReadAhead(body, size)
	}
	return &slotted{body, release}
}

func (s *slotted) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	if err != nil {
		s.release()
	}
	return n, err
}

func (s *slotted) Close() error {
	defer s.release()
	return s.ReadCloser.Close()
}
