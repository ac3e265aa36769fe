package repository

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
)

// Stat returns the size of a blob. It sends a HEAD request, but some registries and
// proxies refuse HEAD requests, or respond without a size or with a wrong size. If the
// response lacks the expected size, Stat sends a GET request. After a wrong response,
// it sends only GET requests.
func (r *remoteRepository) Stat(ctx context.Context, d ocispec.Descriptor) (int64, error) {
	size, err := r.stat(ctx, d)
	if err != nil {
		return 0, r.fail("looking for blob", d.Digest.String(), err)
	}
	return size, nil
}

func (r *remoteRepository) stat(ctx context.Context, d ocispec.Descriptor) (int64, error) {
	asksHead, hint := d.Size > 0 && !r.noBlobHead.Load(), int64(-1)
	if asksHead {
		resp, err := r.requestBlob(ctx, http.MethodHead, d, "")
		switch {
		case err == nil:
			_ = resp.Body.Close()
			hint = resp.ContentLength
		case isHeadRefused(err):
			r.noBlobHead.Store(true)
		default:
			return 0, err
		}
		if hint == d.Size {
			return hint, nil
		}
	}
	size, err := r.measureBlob(ctx, d, transfer.Range{End: 1}.Header())
	if asksHead && err == nil && size != hint {
		r.noBlobHead.Store(true)
	}
	return size, err
}

// measureBlob returns the size of a blob from the response to a GET request. It
// requests only one byte, because the response to a range request also contains the
// size.
func (r *remoteRepository) measureBlob(ctx context.Context, d ocispec.Descriptor, byteRange string) (int64, error) {
	resp, err := r.requestBlob(ctx, http.MethodGet, d, byteRange)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	_, total, _ := strings.Cut(resp.Header.Get("Content-Range"), "/")
	size, err := strconv.ParseInt(total, 10, 64)
	if byteRange != "" && resp.StatusCode == http.StatusOK {
		r.noRanges.Store(true)
	}
	switch {
	case resp.StatusCode == http.StatusRequestedRangeNotSatisfiable:
		return 0, nil // the blob has no first byte
	case resp.StatusCode == http.StatusPartialContent && err == nil:
		return size, nil
	case resp.StatusCode == http.StatusPartialContent && byteRange != "":
		return r.measureBlob(ctx, d, "") // the size is "*"
	case resp.StatusCode == http.StatusOK && resp.ContentLength >= 0:
		return resp.ContentLength, nil
	case resp.StatusCode == http.StatusOK:
		limit := int64(artifact.MaxZipSize)
		if d.Size > 0 {
			limit = d.Size
		}
		return io.Copy(io.Discard, io.LimitReader(resp.Body, limit+1)) // one extra byte reveals that the blob is too large
	}
	return 0, fmt.Errorf("response to a GET request has status %d", resp.StatusCode)
}

// requestBlob requests a blob or, if byteRange is not empty, a range of it. It also
// returns a response with status 416, which means that the blob is empty.
func (r *remoteRepository) requestBlob(ctx context.Context, method string, d ocispec.Descriptor, byteRange string) (*http.Response, error) {
	if err := d.Digest.Validate(); err != nil {
		return nil, err
	}
	header, accepted := http.Header{}, []int{http.StatusOK}
	if byteRange != "" {
		header.Set("Range", byteRange)
		accepted = append(accepted, http.StatusPartialContent, http.StatusRequestedRangeNotSatisfiable)
	}
	resp, err := r.request(ctx, method, r.blobURL(d), header)
	if err != nil {
		return nil, err
	}
	return checkStatus(resp, accepted...)
}

// resolve returns the digest of a tag or manifest, or "" if it doesn't exist. If the
// registry refuses HEAD requests, or responds to them without a digest, resolve reads
// the manifest and sends no more HEAD requests.
func (r *remoteRepository) resolve(ctx context.Context, reference string) (digest.Digest, error) {
	if !r.noManifestHead.Load() {
		resp, err := r.requestManifest(ctx, http.MethodHead, reference)
		if err == nil {
			_ = resp.Body.Close()
			r.noManifestSize.Store(resp.ContentLength < 0)
			d, err := digest.Parse(reference)
			if err != nil { // a tag
				d, err = digest.Parse(resp.Header.Get("Docker-Content-Digest"))
			}
			if err == nil {
				return d, nil
			}
		} else if !isHeadRefused(err) {
			_, err = isFound(r.fail("looking for", reference, err))
			return "", err
		}
		r.noManifestHead.Store(true)
	}
	d, _, err := r.manifest(ctx, reference)
	if exists, err := isFound(err); !exists {
		return "", err
	}
	return d.Digest, nil
}

// checkStatus returns the response if its status is one of the accepted statuses.
// Otherwise, it closes the response and returns an error.
func checkStatus(resp *http.Response, accepted ...int) (*http.Response, error) {
	switch {
	case slices.Contains(accepted, resp.StatusCode):
		return resp, nil
	case resp.StatusCode == http.StatusNotFound:
		_ = resp.Body.Close()
		return nil, errdef.ErrNotFound
	}
	return nil, responseError(resp)
}

// isHeadRefused reports whether a server doesn't support HEAD requests.
func isHeadRefused(err error) bool {
	response, ok := errors.AsType[*errcode.ErrorResponse](err)
	return ok && (response.StatusCode == http.StatusMethodNotAllowed || response.StatusCode == http.StatusNotImplemented)
}
