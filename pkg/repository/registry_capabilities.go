package repository

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/errdef"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// maxReferrerPages limits the number of pages of a referrers list.
const maxReferrerPages = 100

// referrers implements [Capabilities.Referrers]. If the registry doesn't have the API,
// referrers doesn't request it again.
func (r *remoteRepository) referrers(ctx context.Context, subject digest.Digest) (list []ocispec.Descriptor, supported bool, err error) {
	if r.noReferrers.Load() {
		return nil, false, nil
	}
	err = r.retrier.Do(ctx, "listing the referrers of "+subject.String(), func() error {
		list, err = r.listReferrers(ctx, subject)
		if supported = !lacksAPI(err); supported {
			return err
		}
		// If the repository doesn't exist yet, the registry can still have the API.
		r.noReferrers.Store(!IsUnknownProvider(err))
		return nil
	})
	return list, supported && err == nil, err
}

func (r *remoteRepository) listReferrers(ctx context.Context, subject digest.Digest) ([]ocispec.Descriptor, error) {
	var all []ocispec.Descriptor
	err := r.remote.Referrers(atOrigin(withPages(ctx)), ocispec.Descriptor{Digest: subject}, "", func(page []ocispec.Descriptor) error {
		if all = append(all, page...); len(all) > maxReferrers {
			return fmt.Errorf("list exceeds %d referrers", maxReferrers)
		}
		return nil
	})
	if err == nil || errors.Is(err, errdef.ErrUnsupported) {
		return all, err
	}
	return nil, r.fail("listing the referrers of", subject.String(), err)
}

// lacksAPI reports whether a response is from a registry without an optional API, such as
// the referrers API. Such registries respond with almost any status, with a web
// page, or with a redirect to another host. If the cause is a different one, for example
// missing credentials, other requests fail, too. A registry that is overloaded or fails
// might have the API.
func lacksAPI(err error) bool {
	if errors.Is(err, errdef.ErrUnsupported) || errors.Is(err, httpclient.ErrPage) {
		return true
	}
	response, ok := errors.AsType[*ResponseError](err)
	return ok && response.Status != http.StatusTooManyRequests && (response.Status < http.StatusInternalServerError || response.Status == http.StatusNotImplemented)
}

// errNotMounted aborts an upload that the registry has started instead of mounting the
// blob.
var errNotMounted = errors.New("not mounted")

// mount implements [Capabilities.Mount].
func (r *remoteRepository) mount(ctx context.Context, d ocispec.Descriptor, from string) (mounted bool, err error) {
	err = r.remote.Mount(ctx, d, from, func() (io.ReadCloser, error) { return nil, errNotMounted })
	if err == nil {
		return true, nil
	}
	err = r.fail("mounting blob", d.Digest.String(), err)
	response, refused := errors.AsType[*ResponseError](err)
	if errors.Is(err, errNotMounted) || errors.Is(err, provider.ErrForbidden) || refused && response.Status < http.StatusInternalServerError {
		return false, nil
	}
	return false, err
}
