package repository

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

const (
	// minResumableSize is the minimum size, in bytes, of interrupted uploads that are
	// resumed. For smaller blobs, requesting the status costs more than sending the
	// blob again.
	minResumableSize = 16 << 20
	// maxErrorBody is the maximum number of bytes that are read from an error response.
	maxErrorBody = 8 << 10
)

// partial is an upload that the registry has accepted or partly received.
type partial struct {
	// location is the URL of the upload at the registry.
	location *url.URL
	// size is the number of bytes that the registry has received. For an interrupted
	// upload, it is the number of bytes that were sent.
	size int64
	// authorization is the Authorization header of the request that the registry
	// accepted.
	authorization string
}

// PushBlob uploads a blob in one request. It can't retry, because it reads content
// once. To retry, the caller must open the content again and call PushBlob again. If
// the upload of a large blob was interrupted and the registry reports how much it
// received, PushBlob sends only the remaining bytes. It still reads all of content,
// because it verifies the complete blob.
func (r *remoteRepository) PushBlob(ctx context.Context, d ocispec.Descriptor, content io.Reader) error {
	ctx = r.pushContext(ctx)
	if sent, found := r.interrupted.LoadAndDelete(d.Digest); found {
		if p := r.uploadStatus(ctx, sent.(partial)); p.size > 0 && p.size <= d.Size {
			return r.resumeUpload(ctx, d, content, p)
		}
	}
	if err := r.pushWhole(ctx, d, content); err != nil {
		return r.fail("pushing blob", d.Digest.String(), err)
	}
	return nil
}

func (r *remoteRepository) pushWhole(ctx context.Context, d ocispec.Descriptor, content io.Reader) error {
	p, err := r.startUpload(ctx)
	if err != nil {
		return err
	}
	return r.finishUpload(ctx, d, content, p)
}

// pushContext returns a context for requests that need permission to push.
func (r *remoteRepository) pushContext(ctx context.Context) context.Context {
	return auth.AppendRepositoryScope(ctx, r.remote.Reference, auth.ActionPull, auth.ActionPush)
}

// startUpload starts an upload. The URL to which the content must be sent must be on the
// registry's host, because content and credentials are not sent to any other host. See
// https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#pushing-blobs.
func (r *remoteRepository) startUpload(ctx context.Context) (p partial, err error) {
	asked := r.url("blobs", "uploads/")
	resp, err := r.request(ctx, http.MethodPost, asked, nil)
	if err != nil {
		return p, err
	}
	if resp.StatusCode != http.StatusAccepted {
		return p, responseError(resp)
	}
	_ = resp.Body.Close()
	if p.location, err = resp.Location(); err != nil {
		return p, err
	}
	// Some registries omit the HTTPS port even if the request contains it:
	// https://github.com/oras-project/oras-go/issues/177
	if asked.Port() == "443" && p.location.Port() == "" && p.location.Hostname() == asked.Hostname() {
		p.location.Host = asked.Host
	}
	p.authorization = resp.Request.Header.Get("Authorization")
	return p, checkOrigin("the upload", p.location, asked)
}

// checkOrigin returns an error if a URL from a response is not on the server of the
// request. A registry behind a proxy returns such URLs if it doesn't know its own address.
func checkOrigin(what string, at, asked *url.URL) error {
	switch {
	case httpclient.SameOrigin(at, asked):
		return nil
	case asked.Scheme == "https" && at.Scheme != "https":
		return httpclient.NewDowngradeError(at)
	}
	return fmt.Errorf("%w: the URL of %s is at %s://%s instead of %s://%s", ErrOtherServer, what, at.Scheme, at.Host, asked.Scheme, asked.Host)
}

// finishUpload sends the remaining bytes of a blob and completes its upload. An
// interrupted upload of a large blob is stored so that it can be resumed.
func (r *remoteRepository) finishUpload(ctx context.Context, d ocispec.Descriptor, rest io.Reader, p partial) error {
	sent := transfer.NewRecorder(rest)
	req, err := p.request(ctx, d, sent)
	if err != nil {
		return err
	}
	resp, err := r.remote.Client.Do(req)
	if err == nil && resp.StatusCode == http.StatusCreated {
		return resp.Body.Close()
	}
	if err == nil {
		err = responseError(resp)
	}
	if n := p.size + sent.N(); n > 0 && d.Size >= minResumableSize && (p.size == 0 || !isUploadRefused(err)) {
		r.interrupted.Store(d.Digest, partial{location: p.location, size: n})
	}
	return err
}

// uploadStatus requests how much of an upload the registry has received. If the upload
// can't be resumed for any reason, the size in the result is zero. See
// https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#pushing-a-blob-in-chunks.
func (r *remoteRepository) uploadStatus(ctx context.Context, u partial) partial {
	resp, err := r.request(ctx, http.MethodGet, u.location, nil)
	if err != nil {
		return partial{}
	}
	_ = resp.Body.Close()
	p := partial{location: u.location, size: receivedBytes(resp.Header), authorization: resp.Request.Header.Get("Authorization")}
	if to, err := resp.Location(); err == nil {
		p.location = to
	}
	// Credentials are not sent to other hosts, and the registry can't have received more
	// than was sent.
	isHere := resp.Request.URL.Host == u.location.Host && p.location.Host == u.location.Host && p.location.Scheme == u.location.Scheme
	if resp.StatusCode != http.StatusNoContent || !isHere || p.size > u.size {
		return partial{}
	}
	return p
}

// receivedBytes parses the Range header. For example, "Range: 0-99" means 100 bytes.
// The header doesn't distinguish one byte from none.
func receivedBytes(h http.Header) int64 {
	first, last, _ := strings.Cut(strings.TrimPrefix(h.Get("Range"), "bytes="), "-")
	n, err := strconv.ParseInt(last, 10, 64)
	if first != "0" || err != nil || n <= 0 {
		return 0
	}
	return n + 1
}

// resumeUpload skips the bytes that the registry has received and sends the remaining
// bytes. The registry verifies the digest of the complete blob. If the registry
// rejects the upload, the error is retryable, and the next attempt starts a new upload.
func (r *remoteRepository) resumeUpload(ctx context.Context, d ocispec.Descriptor, content io.Reader, p partial) error {
	if _, err := io.CopyN(io.Discard, bounded.Reader(ctx, content), p.size); err != nil {
		return r.fail("pushing blob", d.Digest.String(), err)
	}
	err := r.finishUpload(ctx, d, content, p)
	if err == nil {
		return r.checkUploaded(ctx, d)
	}
	failure := r.fail("pushing the rest of blob", d.Digest.String(), err)
	if isUploadRefused(err) {
		return &httpclient.RetryableError{Err: failure}
	}
	return failure
}

// isUploadRefused reports whether a registry rejected the upload, as opposed to the
// credentials.
func isUploadRefused(err error) bool {
	response, refused := errors.AsType[*errcode.ErrorResponse](err)
	return refused && response.StatusCode != http.StatusUnauthorized && response.StatusCode != http.StatusForbidden
}

// checkUploaded returns an error if the registry has not assembled the complete blob.
func (r *remoteRepository) checkUploaded(ctx context.Context, d ocispec.Descriptor) error {
	size, err := r.Stat(ctx, d)
	if err == nil && size != d.Size {
		wrong := &sums.SizeError{Name: "resumed upload", Got: size, Want: d.Size}
		return &httpclient.RetryableError{Err: r.fail("pushing the rest of blob", d.Digest.String(), wrong)}
	}
	return err
}

// request returns the request that completes an upload. See
// https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#pushing-a-blob-in-chunks.
func (p partial) request(ctx context.Context, d ocispec.Descriptor, rest io.Reader) (*http.Request, error) {
	if p.size == d.Size {
		rest = http.NoBody
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, p.location.String(), rest)
	if err != nil {
		return nil, err
	}
	query := req.URL.Query()
	query.Set("digest", d.Digest.String())
	req.URL.RawQuery = query.Encode()
	req.Header.Set("Content-Type", "application/octet-stream")
	if req.ContentLength = d.Size - p.size; req.ContentLength > 0 {
		req.Header.Set("Content-Range", fmt.Sprintf("%d-%d", p.size, d.Size-1))
	}
	if p.authorization != "" {
		req.Header.Set("Authorization", p.authorization)
	}
	return req, nil
}

// responseError returns the oras error for a response, and closes the response.
func responseError(resp *http.Response) error {
	defer func() { _ = resp.Body.Close() }()
	e := &errcode.ErrorResponse{Method: resp.Request.Method, URL: resp.Request.URL, StatusCode: resp.StatusCode}
	var body struct {
		Errors errcode.Errors `json:"errors"`
	}
	if json.NewDecoder(io.LimitReader(resp.Body, maxErrorBody)).Decode(&body) == nil {
		e.Errors = body.Errors
	}
	return e
}
