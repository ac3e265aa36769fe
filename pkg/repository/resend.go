package repository

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// ErrContentLost is returned if a registry refuses a manifest or index because content
// is missing, although all of its content was sent again.
var ErrContentLost = provider.Errorf(provider.Transient, "registry still reports missing content after all content was sent again")

// contentSender sends content to a repository, even if the repository reports that the
// content exists. Its functions return [ErrNotFound] for unavailable content. A nil
// function means that no such content is available.
type contentSender struct {
	manifest, blob func(ctx context.Context, d ocispec.Descriptor) error
}

// complete calls write, which sends a manifest or index. If the registry refuses it
// because content is missing, complete sends all of its content again and repeats write
// once. A registry can refuse content that it has reported as existing, for example
// because a cleanup job deletes the content at the same time. Without this repetition,
// each run would trust the same report and fail in the same way.
func (s contentSender) complete(ctx context.Context, m artifact.Blob, write func() error) error {
	refused := write()
	if !isContentMissing(refused) {
		return refused
	}
	manifests, blobs, err := artifact.Children(m.Bytes)
	if err != nil {
		return refused
	}
	sentAny, sentAll := false, true
	send := func(content []ocispec.Descriptor, send func(context.Context, ocispec.Descriptor) error) error {
		for _, d := range content {
			err := ErrNotFound
			if send != nil {
				err = send(ctx, d)
			}
			if err != nil && !errors.Is(err, ErrNotFound) {
				return err
			}
			sentAny, sentAll = sentAny || err == nil, sentAll && err == nil
		}
		return nil
	}
	if err := send(manifests, s.manifest); err != nil {
		return err
	}
	if err := send(blobs, s.blob); err != nil {
		return err
	}
	if !sentAny {
		return refused
	}
	if err = write(); isContentMissing(err) && sentAll {
		err = fmt.Errorf("%w: %w", err, ErrContentLost)
	}
	return err
}

// isContentMissing reports whether a registry refused a manifest or index because it
// lacks content, and the content was not sent again yet.
func isContentMissing(err error) bool {
	response, ok := errors.AsType[*ResponseError](err)
	return ok && response.Method == http.MethodPut && !errors.Is(err, ErrContentLost) && slices.ContainsFunc(response.Codes, func(code string) bool {
		return code == errcode.ErrorCodeManifestBlobUnknown || code == errcode.ErrorCodeBlobUnknown || code == errcode.ErrorCodeManifestUnknown
	})
}

// contentSender sends the manifests of an index that the repository returns, because some
// registries return manifests that they don't find when they check an index. Only the
// source of the content can send blobs.
func (r *remoteRepository) contentSender() contentSender {
	return contentSender{manifest: func(ctx context.Context, d ocispec.Descriptor) error {
		_, data, err := r.Manifest(ctx, d.Digest.String())
		if err != nil {
			return err
		}
		d.Size = int64(len(data))
		return r.PushManifest(ctx, artifact.Blob{Descriptor: d, Bytes: data})
	}}
}
