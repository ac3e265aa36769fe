package repository_test

import (
	"context"
	"io"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// watched calls before with "blob", "manifest", or "tag" before each write. If before
// returns an error, the write is not performed.
type watched struct {
	repository.Repository
	before func(op string) error
	// If only is not empty, PushTag calls before only for this tag.
	only string
}

func (w *watched) PushBlob(ctx context.Context, d ocispec.Descriptor, content io.Reader) error {
	if err := w.before("blob"); err != nil {
		return err
	}
	return w.Repository.PushBlob(ctx, d, content)
}

func (w *watched) PushManifest(ctx context.Context, m artifact.Blob) error {
	if err := w.before("manifest"); err != nil {
		return err
	}
	return w.Repository.PushManifest(ctx, m)
}

func (w *watched) PushTag(ctx context.Context, m artifact.Blob, tag string, was digest.Digest) error {
	if w.only == "" || w.only == tag {
		if err := w.before("tag"); err != nil {
			return err
		}
	}
	return w.Repository.PushTag(ctx, m, tag, was)
}
