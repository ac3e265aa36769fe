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

// ErrTagNotDeleted says that a registry does not remove tags, or not for this login.
var ErrTagNotDeleted = provider.Errorf(provider.Refused, "the registry leaves the tag where it is")

// untag is the trait of that name.
// https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#deleting-tags
func (r *remoteRepository) deleteTag(ctx context.Context, tag string, was digest.Digest) error {
	return r.retrier.Do(ctx, "removing the tag "+r.String()+":"+tag, func() error {
		there, err := r.resolveTag(ctx, tag)
		switch {
		case err != nil || there == "":
			return err
		case there != was:
			return fmt.Errorf("removing the tag %s:%s: %w", r, tag, ErrTagMoved)
		}
		refused := r.sendDelete(ctx, tag)
		if refused != nil && !isPermanent(refused) {
			return refused
		}
		// What the answer means, only another look tells: some answer 404 to all
		// that would delete, and some say yes and do nothing.
		if there, err = r.resolveTag(ctx, tag); err != nil || there == "" {
			return err
		}
		if refused == nil {
			return r.fail("removing the tag", tag, ErrTagNotDeleted)
		}
		return fmt.Errorf("%w: %w", ErrTagNotDeleted, refused)
	})
}

// tagged returns the digest that a tag names, empty where there is no such tag.
func (r *remoteRepository) resolveTag(ctx context.Context, tag string) (digest.Digest, error) {
	d, err := r.remote.Manifests().Resolve(ctx, tag)
	if err != nil {
		_, err = exists(r.fail("looking for tag", tag, err))
		return "", err
	}
	return d.Digest, nil
}

// deleteTag asks for the tag to be deleted, by its name: by its digest, all other
// tags of the manifest would go too.
func (r *remoteRepository) sendDelete(ctx context.Context, tag string) error {
	ctx = auth.AppendRepositoryScope(ctx, r.remote.Reference, auth.ActionPull, auth.ActionDelete)
	req, err := http.NewRequestWithContext(ctx, http.MethodDelete, r.url("manifests", tag).String(), nil)
	if err != nil {
		return err
	}
	resp, err := r.remote.Client.Do(req)
	if err != nil {
		return r.fail("removing the tag", tag, httpclient.RedactError(err))
	}
	if resp.StatusCode < http.StatusMultipleChoices {
		return resp.Body.Close()
	}
	return r.fail("removing the tag", tag, responseError(resp))
}

// meansNo knows answers that mean no, in contrast to trouble that may pass.
func isPermanent(err error) bool {
	answer, ok := errors.AsType[*ResponseError](err)
	if ok && answer.Status < http.StatusInternalServerError && answer.Status != http.StatusTooManyRequests {
		return true
	}
	return errors.Is(err, provider.ErrDenied) || ok && answer.Status == http.StatusNotImplemented
}
