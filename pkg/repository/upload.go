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
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

const (
	// minResumed is the size, in bytes, from which an upload that broke off goes on
	// where it was. Below, asking costs more than sending again.
	minResumableSize = 16 << 20
	// maxRefusal is how much of a refusal is read, in bytes.
	maxErrorBody = 8 << 10
)

// upload is one that broke off.
type upload struct {
	// at is where the registry has it.
	location *url.URL
	// sent is how many bytes the network took. The registry may have less.
	sent int64
}

// uploads are those that broke off.
type uploads struct {
	mu          sync.Mutex
	interrupted map[digest.Digest]upload
}

func (u *uploads) store(d digest.Digest, broken upload) {
	if broken.location == nil || broken.sent == 0 {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.interrupted == nil {
		u.interrupted = map[digest.Digest]upload{}
	}
	u.interrupted[d] = broken
}

// take returns an upload once: it is kept again when it breaks off again.
func (u *uploads) take(d digest.Digest) (broken upload, found bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	broken, found = u.interrupted[d]
	delete(u.interrupted, d)
	return broken, found
}

// PushBlob uploads a blob in one request. It cannot be sent again from here, as
// content is read once: the caller retries by opening the content again. Of a large
// blob, what has arrived by then is not sent again, where the registry tells. All of the
// content is read even so: it is verified as a whole.
func (r *remoteRepository) PushBlob(ctx context.Context, d ocispec.Descriptor, content io.Reader) error {
	ctx = r.pushContext(ctx)
	if broken, found := r.uploads.take(d.Digest); found {
		if p := r.uploadStatus(ctx, broken); p.size > 0 && p.size <= d.Size {
			return r.resumeUpload(ctx, d, content, p)
		}
	}
	if err := r.pushWhole(ctx, d, content); err != nil {
		return r.fail("pushing blob", d.Digest.String(), err)
	}
	return nil
}

func (r *remoteRepository) pushWhole(ctx context.Context, d ocispec.Descriptor, content io.Reader) error {
	begun, err := r.startUpload(ctx) //nolint:bodyclose // begin has closed it
	if err != nil {
		return err
	}
	p, err := r.uploadLocation(begun)
	if err != nil {
		return err
	}
	return r.finishUpload(ctx, d, content, p)
}

// pushing returns requests of the context the permission to push.
func (r *remoteRepository) pushContext(ctx context.Context) context.Context {
	return auth.AppendRepositoryScope(ctx, r.remote.Reference, auth.ActionPull, auth.ActionPush)
}

// begin starts an upload:
// https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#pushing-blobs
func (r *remoteRepository) startUpload(ctx context.Context) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url("blobs", "uploads").String()+"/", nil)
	if err != nil {
		return nil, err
	}
	resp, err := r.remote.Client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusAccepted {
		return nil, responseError(resp)
	}
	return resp, resp.Body.Close()
}

// placeOf returns where a registry wants the content of an upload that it has begun. That
// is at the registry itself: content and login go nowhere else.
func (r *remoteRepository) uploadLocation(begun *http.Response) (partial, error) {
	asked := r.url()
	at, err := begun.Location()
	if err != nil {
		return partial{}, err
	}
	// Some registries leave out the port if it is that of https, although they are
	// contacted with it: https://github.com/oras-project/oras-go/issues/177
	if asked.Port() == "443" && at.Port() == "" && at.Hostname() == asked.Hostname() {
		at.Host = asked.Host
	}
	switch {
	case asked.Scheme == "https" && at.Scheme != "https":
		return partial{}, httpclient.NewDowngradeError(at)
	case !httpclient.SameOrigin(at, asked):
		return partial{}, fmt.Errorf("the registry wants the upload at another host, %s", at.Host)
	}
	return partial{location: at, authorization: begun.Request.Header.Get("Authorization")}, nil
}

// put sends the rest of a blob and ends its upload. Where it breaks off, it is kept.
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
	if d.Size >= minResumableSize && (p.size == 0 || !isUploadRefused(err)) {
		r.uploads.store(d.Digest, upload{location: p.location, sent: p.size + sent.N()})
	}
	return err
}

// partial is what a registry has of a blob.
type partial struct {
	location *url.URL
	size     int64
	// authorization is what the registry let us ask with.
	authorization string
}

// arrived asks how much of an upload has arrived; the size is zero when that can't
// be used, for whatever reason: https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#pushing-a-blob-in-chunks
func (r *remoteRepository) uploadStatus(ctx context.Context, u upload) partial {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.location.String(), nil)
	if err != nil {
		return partial{}
	}
	resp, err := r.remote.Client.Do(req)
	if err != nil {
		return partial{}
	}
	_ = resp.Body.Close()
	p := partial{location: u.location, size: receivedBytes(resp.Header), authorization: resp.Request.Header.Get("Authorization")}
	if to, err := resp.Location(); err == nil {
		p.location = to
	}
	// The login goes nowhere else, and what was not sent can't have arrived.
	isHere := resp.Request.URL.Host == u.location.Host && p.location.Host == u.location.Host && p.location.Scheme == u.location.Scheme
	if resp.StatusCode != http.StatusNoContent || !isHere || p.size > u.sent {
		return partial{}
	}
	return p
}

// received reads the header "Range: 0-99" of 100 bytes that have arrived. Of one
// byte it says the same as of none.
func receivedBytes(h http.Header) int64 {
	first, last, _ := strings.Cut(strings.TrimPrefix(h.Get("Range"), "bytes="), "-")
	n, err := strconv.ParseInt(last, 10, 64)
	if first != "0" || err != nil || n <= 0 {
		return 0
	}
	return n + 1
}

// pushRest leaves out what has arrived, and ends the upload with the rest. The
// registry holds all of it against the digest. What it refuses is worth another try,
// which begins anew.
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

// startsOver reports whether a registry refuses the rest of an upload, and not the login.
func isUploadRefused(err error) bool {
	answer, refused := errors.AsType[*errcode.ErrorResponse](err)
	return refused && answer.StatusCode != http.StatusUnauthorized && answer.StatusCode != http.StatusForbidden
}

// whole looks whether a registry has put both parts together.
func (r *remoteRepository) checkUploaded(ctx context.Context, d ocispec.Descriptor) error {
	size, err := r.Stat(ctx, d.Digest)
	if err == nil && size != d.Size {
		wrong := &sums.SizeError{Name: "the blob that went in two parts", Got: size, Want: d.Size}
		return &httpclient.RetryableError{Err: r.fail("pushing the rest of blob", d.Digest.String(), wrong)}
	}
	return err
}

// request is the one that ends an upload:
// https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#pushing-a-blob-in-chunks
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

// refusal is the library's error of an answer.
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
