package origin

import (
	"context"
	"net/url"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// limited limits the number of concurrent requests to a host. A request includes its
// retries and the pauses before them, so a host that throttles receives fewer requests.
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
