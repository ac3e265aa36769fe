package origin

import (
	"context"
	"fmt"
	"io"
	"net/url"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// Open starts the download of a zip. If the size in the response differs from the size
// in p, Open returns a *[sums.SizeError] before anything is read. Requests are retried
// until a response begins. An interrupted download is resumed if the server supports
// this. Otherwise, the caller must open the zip again.
func (s *Source) Open(ctx context.Context, p provider.Package) (io.ReadCloser, int64, error) {
	at, ok := p.Locator.(*url.URL)
	if !ok {
		return nil, 0, fmt.Errorf("opening %s: %w", p.Filename, provider.ErrWrongSource)
	}
	body, size, err := s.downloads.Open(ctx, at, nil, p)
	if err != nil {
		return nil, 0, err
	}
	return sums.NewReadCloser(body, p.Filename, size, p.Digest), size, nil
}
