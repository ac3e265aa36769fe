package origin

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// Open starts the download of a zip. An answer of another size than p has is a
// *[sums.SizeError] before anything is read. The request is repeated while no
// answer has begun; after that, it is for the caller to open again.
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
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, 0, httpclient.RedactError(err)
	}
	// Else net/http asks for gzip and unpacks it, and the length is lost.
	req.Header.Set("Accept-Encoding", "identity")
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
		return nil, 0, fmt.Errorf("the answer is not a zip: %w", failure)
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
		return nil, 0, fmt.Errorf("%d bytes are more than a package may have, which is %d", size, int64(artifact.MaxZipSize))
	}
	bounded := &boundedBody{resp.Body, artifact.MaxZipSize}
	return sums.NewReadCloser(bounded, p.Filename, size, p.Digest), size, nil
}

// boundedBody fails when more than left bytes come.
type boundedBody struct {
	io.ReadCloser
	left int64
}

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, fmt.Errorf("more than the %d bytes that a package may have", int64(artifact.MaxZipSize))
	}
	return n, err
}
