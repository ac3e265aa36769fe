package repository

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/opencontainers/go-digest"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// ErrTagNotDeleted is returned if a registry doesn't delete tags, or not for these credentials.
var ErrTagNotDeleted = provider.Errorf(provider.Refused, "registry does not delete tags")

// deleteTag implements [Traits.DeleteTag].
// https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#deleting-tags
func (r *remoteRepository) deleteTag(ctx context.Context, tag string, was digest.Digest) error {
	return r.retrier.Do(ctx, "deleting tag "+r.String()+":"+tag, func() error {
		exists, err := r.resolveTag(ctx, tag)
		switch {
		case err != nil || exists == "":
			return err
		case exists != was:
			return fmt.Errorf("deleting tag %s:%s: %w", r, tag, ErrTagMoved)
		}
		refused := r.sendDelete(ctx, tag)
		if refused != nil && !isPermanent(refused) {
			return refused
		}
		// Check the result, because the response is not reliable: some registries respond with
		// 404 to every deletion, and some report success without deleting anything.
		if exists, err = r.resolveTag(ctx, tag); err != nil || exists == "" {
			return err
		}
		if refused == nil {
			return r.fail("deleting tag", tag, ErrTagNotDeleted)
		}
		return fmt.Errorf("%w: %w", ErrTagNotDeleted, refused)
	})
}

// resolveTag returns the digest that a tag points to, or an empty digest if the tag doesn't
// exist.
func (r *remoteRepository) resolveTag(ctx context.Context, tag string) (digest.Digest, error) {
	d, err := r.remote.Manifests().Resolve(ctx, tag)
	if err != nil {
		_, err = isFound(r.fail("looking for tag", tag, err))
		return "", err
	}
	return d.Digest, nil
}

// sendDelete requests the deletion of a tag by its name. Deleting by digest would delete all
// tags of the manifest.
func (r *remoteRepository) sendDelete(ctx context.Context, tag string) error {
	ctx = auth.AppendRepositoryScope(ctx, r.remote.Reference, auth.ActionPull, auth.ActionDelete)
	req, err := http.NewRequestWithContext(ctx, http.MethodDelete, r.url("manifests", tag).String(), nil)
	if err != nil {
		return err
	}
	resp, err := r.remote.Client.Do(req)
	if err != nil {
		return r.fail("deleting tag", tag, httpclient.RedactError(err))
	}
	if resp.StatusCode < http.StatusMultipleChoices {
		return resp.Body.Close()
	}
	return r.fail("deleting tag", tag, responseError(resp))
}

// isPermanent reports whether err is a permanent refusal, in contrast to a temporary failure.
func isPermanent(err error) bool {
	response, ok := errors.AsType[*ResponseError](err)
	if ok && response.Status < http.StatusInternalServerError && response.Status != http.StatusTooManyRequests {
		return true
	}
	return errors.Is(err, provider.ErrDenied) || ok && response.Status == http.StatusNotImplemented
}
