package repository

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/opencontainers/go-digest"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// ErrTagNotDeleted is returned if a registry doesn't support deleting tags, or if the
// credentials don't permit it.
var ErrTagNotDeleted = provider.Errorf(provider.Refused, "registry does not delete tags")

// deleteTag implements [Capabilities.DeleteTag]. See
// https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#deleting-tags.
func (r *remoteRepository) deleteTag(ctx context.Context, tag string, was digest.Digest) error {
	return r.retrier.Do(ctx, "deleting tag "+r.String()+":"+tag, func() error {
		exists, err := r.resolve(ctx, tag)
		switch {
		case err != nil || exists == "":
			return err
		case exists != was:
			return fmt.Errorf("deleting tag %s:%s: %w", r, tag, ErrTagMoved)
		}
		return r.deleteReference(ctx, "deleting tag", tag, ErrTagNotDeleted)
	})
}

// codeTagged is the error code that Google's registries return if a client tries to
// delete a tagged manifest.
const codeTagged = "GOOGLE_MANIFEST_DANGLING_TAG"

// deleteManifest implements [Capabilities.DeleteManifest]. It checks the tag immediately
// before it deletes the manifest. If the registry keeps the tag, deleteManifest deletes
// the tag last, so that a run can still find the manifest after an interruption.
// Registries that refuse to delete tagged manifests are an exception. See
// https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#deleting-manifests.
func (r *remoteRepository) deleteManifest(ctx context.Context, d digest.Digest, tag string) error {
	tagged := tag != ""
	attempt := func() error {
		if exists, err := r.resolve(ctx, d.String()); err != nil || exists == "" {
			return err
		}
		if tagged {
			if now, err := r.resolve(ctx, tag); err != nil || now != d {
				return cmp.Or(err, fmt.Errorf("deleting manifest %s@%s: tag %s: %w", r, d, tag, ErrTagMoved))
			}
		}
		return r.deleteReference(ctx, "deleting manifest", d.String(), errManifestNotDeleted)
	}
	err := r.retrier.Do(ctx, "deleting manifest "+r.String()+"@"+d.String(), attempt)
	if response, ok := errors.AsType[*ResponseError](err); ok && response.Code == codeTagged && tag != "" {
		if err = r.deleteTag(ctx, tag, d); err == nil {
			tagged = false
			return r.retrier.Do(ctx, "deleting manifest "+r.String()+"@"+d.String(), attempt)
		}
	}
	if err != nil || tag == "" {
		return err
	}
	return r.deleteTag(ctx, tag, d)
}

// deleteReference deletes an existing tag or manifest. If the tag or manifest still
// exists afterward, the error wraps notDeleted.
func (r *remoteRepository) deleteReference(ctx context.Context, op, reference string, notDeleted error) error {
	refused := r.sendDelete(ctx, op, reference)
	if refused != nil && !IsPermanent(refused) {
		return refused
	}
	// Check the result, because the response is not reliable. Some registries respond
	// with 404 to every deletion, and some report success without deleting anything.
	exists, err := r.resolve(ctx, reference)
	switch {
	case err != nil || exists == "":
		return err
	case refused == nil:
		return r.fail(op, reference, notDeleted)
	}
	return fmt.Errorf("%w: %w", notDeleted, refused)
}

// sendDelete requests the deletion of a tag or a manifest. A tag is deleted by its name,
// because deleting by digest would delete all tags of the manifest.
func (r *remoteRepository) sendDelete(ctx context.Context, op, reference string) error {
	ctx = auth.AppendRepositoryScope(ctx, r.remote.Reference, auth.ActionPull, auth.ActionDelete)
	req, err := http.NewRequestWithContext(ctx, http.MethodDelete, r.url("manifests", reference).String(), nil)
	if err != nil {
		return err
	}
	resp, err := r.remote.Client.Do(req)
	if err != nil {
		return r.fail(op, reference, httpclient.RedactError(err))
	}
	if resp.StatusCode < http.StatusMultipleChoices {
		return resp.Body.Close()
	}
	return r.fail(op, reference, responseError(resp))
}

// IsPermanent reports whether err is a permanent refusal by a registry instead of a
// temporary failure.
func IsPermanent(err error) bool {
	response, ok := errors.AsType[*ResponseError](err)
	if ok && response.Status < http.StatusInternalServerError && response.Status != http.StatusTooManyRequests {
		return true
	}
	return errors.Is(err, provider.ErrForbidden) || ok && response.Status == http.StatusNotImplemented
}
