package repository

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// maxTagPages limits the number of pages of a tag list. Registries return 100 or more
// tags per page, so the limit is far above the number of versions of any provider.
const maxTagPages = 1000

// defaultConfirmDelay is the default for [Options.ConfirmDelay].
const defaultConfirmDelay = 500 * time.Millisecond

// Options configures access to registries. With the zero value, access is anonymous and
// uses HTTPS.
type Options struct {
	// HTTP sends the requests, and is responsible for TLS, timeouts, and retries. If
	// nil, a client with the defaults of this module is used.
	HTTP *http.Client
	// PlainHTTP lists registries, as host or host:port, that are accessed over plain
	// HTTP.
	PlainHTTP []string
	// Credential returns the credentials for a repository, "host/name". If nil, access
	// is anonymous.
	Credential func(ctx context.Context, repository string) (Credential, error)
	// TokenRealms lists token services, as host or host:port, that are always allowed
	// to receive credentials. The list can include services with private addresses, and
	// services on other hosts that a registry in PlainHTTP refers to. A host without a
	// port matches all ports.
	TokenRealms []string
	// Backoff returns the pause after the given number of failures. If nil, the pause
	// starts at half a second and doubles. Backoff applies to interrupted responses,
	// because HTTP clients don't repeat requests after an interrupted response.
	Backoff func(failed int) time.Duration
	// ConfirmDelay is the value of [Capabilities.ConfirmDelay], which also applies to image
	// layouts. If zero, half a second is used.
	ConfirmDelay time.Duration
	// Progress reports retried requests.
	Progress provider.Progress
	// Buffers is the memory for parts of large blobs that arrive before they are read.
	// If nil, each repository has a separate buffer pool.
	Buffers *transfer.BufferPool
}

// Credential contains the credentials for a registry. The zero value is anonymous.
type Credential struct {
	Username, Password string
	// RefreshToken is an OAuth 2.0 identity token. AccessToken is a bearer token.
	RefreshToken, AccessToken string
	// From is the source of the credentials, which is used in messages. It can be
	// empty.
	From string
}

// remoteRepository is a repository in a registry. Each repository has a separate
// client, so repositories never share tokens.
type remoteRepository struct {
	remote      *remote.Repository
	retrier     transfer.Retrier
	credentials *credentialState
	// http is the layer below authentication. It sends all requests.
	http         *http.Client
	buffers      *transfer.BufferPool
	confirmDelay time.Duration
	// rangeRefusals counts responses that indicate that blobs should not be read in
	// ranges. See [maxRangeRefusals].
	rangeRefusals atomic.Int32
	// interrupted maps the digests of blobs to interrupted uploads, of type [partial].
	interrupted sync.Map
	// noReferrers reports whether the registry doesn't have the referrers API.
	noReferrers atomic.Bool
	// noBlobHead and noManifestHead report whether responses to HEAD requests for blobs
	// and manifests are useless.
	noBlobHead, noManifestHead atomic.Bool
	// noManifestSize reports whether responses to HEAD requests for manifests lack the size.
	noManifestSize atomic.Bool
	// noRanges reports whether the response to a request for a range was a complete blob.
	noRanges atomic.Bool
}

// newRegistry returns the repository that ref refers to. It doesn't send requests.
func newRegistry(ref template.Reference, o Options) (*remoteRepository, error) {
	repo := &remote.Repository{
		Reference:        registry.Reference{Registry: ref.Registry, Repository: ref.Name},
		PlainHTTP:        slices.Contains(o.PlainHTTP, ref.Registry),
		MaxMetadataBytes: artifact.MaxManifestSize,
		TagListMaxPages:  maxTagPages,

		ReferrerListMaxPages: maxReferrerPages,
	}
	// Without this call, oras would maintain the referrers list itself if the registry
	// doesn't, and would delete lists that it considers outdated. [Attach] is more
	// careful.
	if err := repo.SetReferrersCapability(true); err != nil {
		return nil, err
	}
	if err := repo.Reference.Validate(); err != nil {
		return nil, fmt.Errorf("repository %s: %w", ref, err)
	}
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	client := o.client(repo.Reference)
	repo.Client = client
	return &remoteRepository{
		remote: repo, retrier: transfer.Retrier{Backoff: o.Backoff, Progress: o.Progress},
		http: o.HTTP, buffers: o.Buffers, credentials: client.state, confirmDelay: cmp.Or(o.ConfirmDelay, defaultConfirmDelay),
	}, nil
}

// String returns "host/name".
func (r *remoteRepository) String() string {
	return r.remote.Reference.Registry + "/" + r.remote.Reference.Repository
}

// Capabilities returns the location of the repository and the optional operations that
// registries support.
func (r *remoteRepository) Capabilities() Capabilities {
	return Capabilities{
		Registry: r.remote.Reference.Registry, Name: r.remote.Reference.Repository,
		ConfirmDelay: r.confirmDelay, Backoff: r.retrier.Backoff, Referrers: r.referrers, Mount: r.mount, Redirect: r.redirect, DeleteTag: r.deleteTag, DeleteManifest: r.deleteManifest, Missing: r.missing,
	}
}

// missing implements [Capabilities.Missing].
func (r *remoteRepository) missing() MissingFeatures {
	return MissingFeatures{
		BlobHead: r.noBlobHead.Load(), ManifestHead: r.noManifestHead.Load(), ManifestSize: r.noManifestSize.Load(),
		BlobRanges: r.noRanges.Load() || r.rangeRefusals.Load() >= maxRangeRefusals,
	}
}

// Tags returns all tags.
func (r *remoteRepository) Tags(ctx context.Context) (all []string, err error) {
	err = r.retrier.Do(ctx, "listing the tags of "+r.String(), func() error {
		all, err = r.tags(ctx)
		return err
	})
	return validTags("the tags of "+r.String(), all, r.retrier.Progress), err
}

func (r *remoteRepository) tags(ctx context.Context) ([]string, error) {
	var all []string
	size := 0
	err := r.remote.Tags(withPages(ctx), "", func(page []string) error {
		for _, tag := range page {
			size += len(tag)
		}
		if all = append(all, page...); len(all) > maxTags || size > maxTagBytes {
			return fmt.Errorf("list exceeds %d tags or %d bytes", maxTags, maxTagBytes)
		}
		return nil
	})
	if err != nil {
		return nil, r.fail("listing the tags of", "", err)
	}
	return all, nil
}

// Manifest reads a manifest or index by tag or digest.
func (r *remoteRepository) Manifest(ctx context.Context, reference string) (d ocispec.Descriptor, data []byte, err error) {
	err = r.retrier.Do(ctx, "fetching manifest "+reference, func() error {
		d, data, err = r.manifest(ctx, reference)
		return err
	})
	return d, data, err
}

func (r *remoteRepository) manifest(ctx context.Context, reference string) (ocispec.Descriptor, []byte, error) {
	fail := func(err error) (ocispec.Descriptor, []byte, error) {
		return ocispec.Descriptor{}, nil, r.fail("fetching manifest", reference, err)
	}
	resp, err := r.reservedManifest(ctx, reference)
	if err != nil {
		return fail(err)
	}
	defer func() { _ = resp.Body.Close() }()
	d := ocispec.Descriptor{Size: resp.ContentLength}
	if d.MediaType, _, err = mime.ParseMediaType(resp.Header.Get("Content-Type")); err != nil {
		return fail(fmt.Errorf("response has no valid content type: %w", err))
	}
	if d.Digest, err = digest.Parse(reference); err != nil { // a tag
		d.Digest = digest.Digest(resp.Header.Get("Docker-Content-Digest"))
	}
	d, data, err := readManifest(resp.Body, d)
	if err != nil {
		return fail(err)
	}
	return d, data, nil
}

// reservedManifest requests a manifest and reserves memory for it, because many releases
// are read concurrently and each manifest can be as large as OpenTofu permits. If
// reservedManifest must wait for memory, it closes the response and repeats the request
// later. Otherwise, HTTP/2 would buffer megabytes of the response.
func (r *remoteRepository) reservedManifest(ctx context.Context, reference string) (*http.Response, error) {
	resp, err := r.requestManifest(ctx, http.MethodGet, reference)
	if err != nil {
		return nil, err
	}
	size := resp.ContentLength
	if size < 0 {
		size = artifact.MaxManifestSize
	}
	wait := schedule.ReserveMemory(ctx, size)
	if wait == nil {
		return resp, nil
	}
	_ = resp.Body.Close()
	if err := wait(); err != nil {
		return nil, err
	}
	return r.requestManifest(ctx, http.MethodGet, reference)
}

// requestManifest requests a manifest without oras. If a response contains no digest,
// oras reads the entire manifest before memory can be reserved. If a response contains
// no length, oras sends a second request. For HEAD requests, oras requires both.
func (r *remoteRepository) requestManifest(ctx context.Context, method, reference string) (*http.Response, error) {
	if _, err := r.remote.ParseReference(reference); err != nil {
		return nil, err
	}
	resp, err := r.request(ctx, method, r.url("manifests", reference), http.Header{"Accept": {strings.Join(manifestTypes, ", ")}})
	if err != nil {
		return nil, err
	}
	return checkStatus(resp, http.StatusOK)
}

// url returns the URL of a path in the repository.
func (r *remoteRepository) url(path ...string) *url.URL {
	at := &url.URL{Scheme: "https", Host: r.remote.Reference.Host()}
	if r.remote.PlainHTTP {
		at.Scheme = "http"
	}
	return at.JoinPath(append([]string{"v2", r.remote.Reference.Repository}, path...)...)
}

// request sends a request without a body. It requires at least permission to pull.
func (r *remoteRepository) request(ctx context.Context, method string, at *url.URL, header http.Header) (*http.Response, error) {
	ctx = auth.AppendRepositoryScope(ctx, r.remote.Reference, auth.ActionPull)
	req, err := http.NewRequestWithContext(ctx, method, at.String(), nil)
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, header)
	resp, err := r.remote.Client.Do(req)
	if err != nil {
		return nil, httpclient.RedactError(err)
	}
	return resp, nil
}

// manifestTypes are the media types of manifests. Some registries convert manifests of
// other types, which changes the digest.
var manifestTypes = []string{
	ocispec.MediaTypeImageManifest, ocispec.MediaTypeImageIndex,
	"application/vnd.docker.distribution.manifest.v2+json", "application/vnd.docker.distribution.manifest.list.v2+json",
	"application/vnd.oci.artifact.manifest.v1+json",
}

// PushManifest uploads a manifest under its digest.
func (r *remoteRepository) PushManifest(ctx context.Context, m artifact.Blob) error {
	return r.contentSender().complete(ctx, m, func() error {
		if err := r.remote.Manifests().Push(ctx, m.Descriptor, bytes.NewReader(m.Bytes)); err != nil {
			return r.fail("pushing manifest", m.Descriptor.Digest.String(), err)
		}
		return nil
	})
}

// PushTag uploads a manifest under a tag, after checking that no other run has moved
// the tag. Registries can't check and write a tag atomically. Therefore, PushTag checks
// the tag again before each attempt.
func (r *remoteRepository) PushTag(ctx context.Context, m artifact.Blob, tag string, was digest.Digest) error {
	return r.contentSender().complete(ctx, m, func() error {
		return r.retrier.Do(ctx, "tagging "+r.String()+":"+tag, func() error {
			return r.checkAndTag(ctx, m, tag, was)
		})
	})
}

func (r *remoteRepository) checkAndTag(ctx context.Context, m artifact.Blob, tag string, was digest.Digest) error {
	now, err := r.resolve(ctx, tag)
	if err != nil {
		return err
	}
	switch now {
	case was:
	case m.Descriptor.Digest:
		return nil // an earlier attempt succeeded, but its response was lost
	default:
		return fmt.Errorf("tagging %s:%s: %w", r, tag, ErrTagMoved)
	}
	if err := r.remote.Manifests().PushReference(httpclient.WithoutRetry(ctx), m.Descriptor, bytes.NewReader(m.Bytes), tag); err != nil {
		return r.fail("tagging", tag, err)
	}
	return nil
}

// fail returns an [Error] about an operation on the repository.
func (r *remoteRepository) fail(doing, what string, err error) error {
	return r.credentials.fail(Error{
		Op: doing, Registry: r.remote.Reference.Registry, Name: r.remote.Reference.Repository,
		Reference: what, Writing: strings.HasPrefix(doing, "pushing") || doing == "tagging",
	}, err)
}
