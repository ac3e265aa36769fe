package repository

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/errdef"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// maxReferrerPages limits the number of pages of a referrers list.
const maxReferrerPages = 100

// referrers implements [Traits.Referrers]. After a response with status 404, referrers
// doesn't request the API again.
func (r *remoteRepository) referrers(ctx context.Context, subject digest.Digest) (list []ocispec.Descriptor, supported bool, err error) {
	if r.noReferrers.Load() {
		return nil, false, nil
	}
	err = r.retrier.Do(ctx, "listing the referrers of "+subject.String(), func() error {
		list, err = r.listReferrers(ctx, subject)
		return err
	})
	if err == nil {
		return list, true, nil
	}
	if errors.Is(err, errdef.ErrUnsupported) {
		r.noReferrers.Store(true)
		return nil, false, nil
	}
	if response, ok := errors.AsType[*ResponseError](err); ok && slices.Contains(unsupportedStatuses, response.Status) {
		return nil, false, nil
	}
	return nil, false, err
}

func (r *remoteRepository) listReferrers(ctx context.Context, subject digest.Digest) ([]ocispec.Descriptor, error) {
	var all []ocispec.Descriptor
	err := r.remote.Referrers(withPages(ctx), ocispec.Descriptor{Digest: subject}, "", func(page []ocispec.Descriptor) error {
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

// unsupportedStatuses lists the statuses, in addition to 404, that registries return
// for unsupported paths.
var unsupportedStatuses = []int{http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusNotImplemented}

// errNotMounted aborts an upload that the registry has started instead of mounting the
// blob.
var errNotMounted = errors.New("not mounted")

// mount implements [Traits.Mount].
func (r *remoteRepository) mount(ctx context.Context, d ocispec.Descriptor, from string) (mounted bool, err error) {
	err = r.remote.Mount(ctx, d, from, func() (io.ReadCloser, error) { return nil, errNotMounted })
	if err == nil {
		return true, nil
	}
	err = r.fail("mounting blob", d.Digest.String(), err)
	response, refused := errors.AsType[*ResponseError](err)
	if errors.Is(err, errNotMounted) || errors.Is(err, provider.ErrDenied) || refused && response.Status < http.StatusInternalServerError {
		return false, nil
	}
	return false, err
}
