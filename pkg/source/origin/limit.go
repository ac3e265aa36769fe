package origin

import (
	"context"
	"io"
	"net/url"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// limited limits the number of concurrent requests to a host. A request's retries and
// the pauses before them count as part of the request, so a host that throttles
// receives fewer requests.
type limited struct {
	protocol
	pool *schedule.Limiter
}

func (l limited) discover(ctx context.Context, host svchost.Hostname) (s service, err error) {
	err = l.do(ctx, string(host), func() error {
		s, err = l.protocol.discover(ctx, host)
		return err
	})
	return s, err
}

func (l limited) versions(ctx context.Context, registry service, a provider.Address) (versions listing, err error) {
	err = l.do(ctx, registry.base.Host, func() error {
		versions, err = l.protocol.versions(ctx, registry, a)
		return err
	})
	return versions, err
}

func (l limited) describe(ctx context.Context, registry service, key packageKey, version listed) (d description, err error) {
	err = l.do(ctx, registry.base.Host, func() error {
		d, err = l.protocol.describe(ctx, registry, key, version)
		return err
	})
	return d, err
}

func (l limited) document(ctx context.Context, at *url.URL, limit int64) (f file, err error) {
	err = l.do(ctx, at.Host, func() error {
		f, err = l.protocol.document(ctx, at, limit)
		return err
	})
	return f, err
}

func (l limited) do(ctx context.Context, host string, ask func() error) error {
	release, err := l.pool.Acquire(ctx, host)
	if err != nil {
		return err
	}
	defer release()
	return ask()
}

// slotted is a zip that occupies a request slot until it is read completely or closed.
type slotted struct {
	io.ReadCloser
	release func()
}

// withSlot makes a small zip occupy a request slot while it is read. The smallest zips
// are read immediately, regardless of the speed of the reader. The number of transfers
// of larger zips is limited elsewhere.
func withSlot(body io.ReadCloser, size int64, release func()) io.ReadCloser {
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
