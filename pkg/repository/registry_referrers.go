package repository

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/errdef"
)

// maxReferrerPages bounds a list of referrers.
const maxReferrerPages = 100

// referrers is the trait of that name.
func (r *Registry) referrers(ctx context.Context, subject digest.Digest) (list []ocispec.Descriptor, supported bool, err error) {
	err = r.remote.Referrers(ctx, ocispec.Descriptor{Digest: subject}, "", func(page []ocispec.Descriptor) error {
		list = append(list, page...)
		return nil
	})
	if err == nil {
		return list, true, nil
	}
	if errors.Is(err, errdef.ErrUnsupported) {
		return nil, false, nil
	}
	err = r.fail("listing the referrers of", subject.String(), err)
	if answer, ok := errors.AsType[*ResponseError](err); ok && slices.Contains(noSuchAPI, answer.Status) {
		return nil, false, nil
	}
	return nil, false, err
}

// noSuchAPI are the answers, beside 404, of registries that do not know the path.
var noSuchAPI = []int{http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusNotImplemented}
