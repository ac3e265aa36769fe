package repository

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
)

// putManifest pushes a manifest. If the existing manifest was damaged, putManifest
// reads the new one back.
func putManifest(ctx context.Context, repo Repository, m artifact.Blob, was Inspection) error {
	d := m.Descriptor.Digest
	if err := repo.PushManifest(ctx, m); err != nil || !was.damaged(d) {
		return err
	}
	_, _, err := repo.Manifest(ctx, d.String())
	if err != nil && isFinding(err) {
		err = fmt.Errorf("replacing %s in %s: %w", d, repo, ErrCorruptRetained)
	}
	return err
}

// damaged reports whether the inspection found that the manifest is damaged, but not
// missing.
func (i Inspection) damaged(manifest digest.Digest) bool {
	for _, f := range i.Platforms {
		if f.Target.Descriptor.Digest == manifest {
			return f.Err != nil && !errors.Is(f.Err, ErrNotFound)
		}
	}
	return false
}

// found reports whether the manifest was read successfully.
func (i Inspection) found(manifest digest.Digest) bool {
	for _, f := range i.Platforms {
		if f.Err == nil && f.Target.Descriptor.Digest == manifest {
			return true
		}
	}
	return false
}

// RefusesTypes reports whether a registry refused a manifest for a reason that can be its
// media types. Registries with a list of allowed types respond with various statuses.
// [artifact.Generic] might be accepted.
func RefusesTypes(err error) bool {
	response, ok := errors.AsType[*ResponseError](err)
	if !ok || response.Method != http.MethodPut || !strings.Contains(response.URL, "/manifests/") || response.isOtherRefusal() {
		return false
	}
	switch response.Status {
	case http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		return true
	}
	return response.isClass()
}

// isOtherRefusal reports whether the error codes name a reason other than media types.
func (e *ResponseError) isOtherRefusal() bool {
	return slices.ContainsFunc(e.Codes, func(code string) bool {
		return slices.Contains([]string{
			errcode.ErrorCodeManifestBlobUnknown, errcode.ErrorCodeManifestUnknown, errcode.ErrorCodeBlobUnknown, errcode.ErrorCodeNameUnknown, errcode.ErrorCodeNameInvalid,
			"TAG_INVALID", "ImageTagAlreadyExistsException", "REGISTRY_DISALLOWED_OPERATION", // immutable and locked tags
		}, code)
	})
}

// PushAccepted calls push, which pushes manifests and reports an error. If generic is not
// set and the registry refuses the media types, PushAccepted calls push again, to push
// generic manifests. See [artifact.Generic].
func PushAccepted(generic bool, push func(generic bool) error) error {
	err := push(generic)
	if generic || !RefusesTypes(err) {
		return err
	}
	return push(true)
}

// pushAccepted calls push with a manifest and, if the registry refuses its media types,
// with its generic form. It returns the manifest of the last call.
func pushAccepted(m artifact.Blob, push func(artifact.Blob) error) (artifact.Blob, error) {
	err := PushAccepted(false, func(generic bool) (err error) {
		if generic {
			m, err = artifact.Generic(m)
		}
		if err == nil {
			err = push(m)
		}
		return err
	})
	return m, err
}
