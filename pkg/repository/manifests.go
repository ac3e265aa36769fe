package repository

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// putManifest pushes a manifest. If the existing manifest was damaged, putManifest
// reads the new one back.
func putManifest(ctx context.Context, repo Repository, m artifact.Blob, was Inspection) error {
	d := m.Descriptor.Digest
	err := repo.PushManifest(ctx, m)
	if f, _ := was.manifest(d); err != nil || f.Err == nil || errors.Is(f.Err, ErrNotFound) {
		return err
	}
	if _, _, err = repo.Manifest(ctx, d.String()); err != nil && isFinding(err) {
		err = fmt.Errorf("replacing %s in %s: %w", d, repo, ErrCorruptRetained)
	}
	return err
}

// manifest returns the inspected package with the given manifest. If there are several, it
// prefers one whose manifest could be read.
func (i Inspection) manifest(d digest.Digest) (found InspectedPackage, isInspected bool) {
	for _, f := range i.Platforms {
		if f.Target.Descriptor.Digest == d && (!isInspected || f.Err == nil) {
			found, isInspected = f, true
		}
	}
	return found, isInspected
}

// readManifest reads a manifest unless the inspection has read it.
func (i Inspection) readManifest(ctx context.Context, repo Reader, d ocispec.Descriptor) (artifact.Blob, error) {
	f, isInspected := i.manifest(d.Digest)
	if isInspected && f.Err == nil {
		return artifact.Blob{Descriptor: d, Bytes: f.Bytes}, nil
	}
	_, data, err := repo.Manifest(ctx, d.Digest.String())
	d.Size = int64(len(data)) // a referrers list can contain a wrong size
	return artifact.Blob{Descriptor: d, Bytes: data}, err
}

// RefusesTypes reports whether a registry might have refused a manifest because of its
// media types. Registries with a list of allowed types respond with various statuses.
// They might accept a manifest from [artifact.Generic].
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

// PushAccepted calls push, which pushes manifests. If generic is false and the registry
// refuses the media types, PushAccepted calls push again to push generic manifests. See
// [artifact.Generic].
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

// ErrContentLost is returned if a registry refuses a manifest or index because content
// is missing, although all of its content was sent again.
var ErrContentLost = provider.Errorf(provider.Transient, "registry still reports missing content after all content was sent again")

// contentSender sends content to a repository, even if the repository reports that the
// content exists.
type contentSender struct {
	// manifest returns a manifest of the content, and put sends a manifest. blob sends
	// a blob. If blob is nil, no blobs are available. For unavailable content, the
	// functions return [ErrNotFound].
	manifest func(ctx context.Context, d ocispec.Descriptor) (artifact.Blob, error)
	put      func(ctx context.Context, m artifact.Blob) error
	blob     func(ctx context.Context, d ocispec.Descriptor) error
}

// complete calls write, which sends a manifest or index. If the registry refuses the
// manifest because content is missing, complete sends all content of the manifest again
// and repeats write once. A registry can refuse content that it has reported as
// existing, for example because a cleanup job deletes the content at the same time.
// Without this repetition, each run would trust the same report and fail in the same
// way.
func (s contentSender) complete(ctx context.Context, m artifact.Blob, write func() error) error {
	refused := write()
	if !isContentMissing(refused) {
		return refused
	}
	n, err := newNode(m)
	if err != nil {
		return refused
	}
	sentAny, sentAll := false, true
	for i, d := range slices.Concat(n.manifests, n.blobs) {
		err := s.send(ctx, d, i < len(n.manifests))
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		sentAny, sentAll = sentAny || err == nil, sentAll && err == nil
	}
	if !sentAny {
		return refused
	}
	if err = write(); isContentMissing(err) && sentAll {
		err = fmt.Errorf("%w: %w", err, ErrContentLost)
	}
	return err
}

func (s contentSender) send(ctx context.Context, d ocispec.Descriptor, isManifest bool) error {
	switch {
	case isManifest:
		m, err := s.manifest(ctx, d)
		if err != nil {
			return err
		}
		return s.put(ctx, m)
	case s.blob == nil:
		return ErrNotFound
	}
	return s.blob(ctx, d)
}

// isContentMissing reports whether a registry refused a manifest or index because it
// lacks content, and the content was not sent again yet.
func isContentMissing(err error) bool {
	response, ok := errors.AsType[*ResponseError](err)
	return ok && response.Method == http.MethodPut && !errors.Is(err, ErrContentLost) && slices.ContainsFunc(response.Codes, func(code string) bool {
		return code == errcode.ErrorCodeManifestBlobUnknown || code == errcode.ErrorCodeBlobUnknown || code == errcode.ErrorCodeManifestUnknown
	})
}

// contentSender reads the manifests of an index from the repository and sends them
// again. Some registries return manifests that they don't find when they check an
// index. Only the source of the content can send blobs.
func (r *remoteRepository) contentSender() contentSender {
	return contentSender{put: r.PushManifest, manifest: func(ctx context.Context, d ocispec.Descriptor) (artifact.Blob, error) {
		return Inspection{}.readManifest(ctx, r, d)
	}}
}
