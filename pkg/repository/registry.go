package repository

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// maxTagPages bounds a tag list; with the 100 tags or more that registries put
// on a page it is far above any provider's number of versions.
const maxTagPages = 1000

// defaultSettle is the trait Settle.
const defaultConfirmDelay = 500 * time.Millisecond

// Options say how registries are reached. The zero value reaches them
// anonymously over https.
type Options struct {
	// HTTP sends the requests; it brings TLS, timeouts and retries. Nil is one
	// with all of them.
	HTTP *http.Client
	// PlainHTTP lists the registries, host or host:port, that are spoken to
	// without TLS.
	PlainHTTP []string
	// Credential gives the login for a repository, "host/name". Nil is
	// anonymous.
	Credential func(ctx context.Context, repository string) (Credential, error)
	// TokenRealms lists token services, host or host:port, that the login may go
	// to though they are at private addresses, or named by a registry of PlainHTTP,
	// on another host than the registry. Without a port it is all ports.
	TokenRealms []string
	// Backoff is the pause after the given number of failures; nil doubles from
	// half a second. It counts where a manifest's answer breaks off in the
	// middle, which HTTP clients do not repeat.
	Backoff func(failed int) time.Duration
	// Settle is the trait of that name; 0 is half a second. Layouts have it too.
	ConfirmDelay time.Duration
	// Progress is told of what is tried again.
	Progress provider.Progress
	// Buffers is the memory for parts of large blobs that arrive before they are read. If
	// nil, each repository has its own.
	Buffers *transfer.BufferPool
}

// Credential is a login to a registry. The zero value is anonymous.
type Credential struct {
	Username, Password string
	// RefreshToken is an OAuth2 identity token, AccessToken a bearer token.
	RefreshToken, AccessToken string
	// From says where the login comes from, for messages; it may be empty.
	From string
}

// remoteRepository is a repository of an OCI registry. It has a client of its own, so that tokens are never shared between repositories.
type remoteRepository struct {
	remote      *remote.Repository
	retrier     transfer.Retrier
	credentials *credentialState
	// http sends all requests, below what knows of logins.
	http         *http.Client
	buffers      *transfer.BufferPool
	confirmDelay time.Duration
	// refusals counts what speaks against reading blobs in parts, see [maxRefusals].
	rangeRefusals atomic.Int32
	uploads       uploads
}

// newRegistry prepares access to a registry's repository; nothing is sent yet.
func newRegistry(ref template.Reference, o Options) (*remoteRepository, error) {
	repo := &remote.Repository{
		Reference:        registry.Reference{Registry: ref.Registry, Repository: ref.Name},
		PlainHTTP:        slices.Contains(o.PlainHTTP, ref.Registry),
		MaxMetadataBytes: artifact.MaxManifestSize,
		TagListMaxPages:  maxTagPages,

		ReferrerListMaxPages: maxReferrerPages,
	}
	// Else oras keeps a list of referrers by itself, where the registry does
	// not, and deletes what it takes for older lists. [Attach] does
	// that with more care.
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
	login := &credentialState{}
	repo.Client = o.client(repo.Reference, login)
	return &remoteRepository{
		remote: repo, retrier: transfer.Retrier{Backoff: o.Backoff, Progress: o.Progress},
		http: o.HTTP, buffers: o.Buffers, credentials: login, confirmDelay: cmp.Or(o.ConfirmDelay, defaultConfirmDelay),
	}, nil
}

// String returns "host/name".
func (r *remoteRepository) String() string {
	return r.remote.Reference.Registry + "/" + r.remote.Reference.Repository
}

// Traits tell where the repository is, and what registries can do.
func (r *remoteRepository) Traits() Traits {
	return Traits{
		Registry: r.remote.Reference.Registry, Name: r.remote.Reference.Repository,
		ConfirmDelay: r.confirmDelay, Backoff: r.retrier.Backoff, Referrers: r.referrers, Mount: r.mount, Redirect: r.redirect, DeleteTag: r.deleteTag, Writable: r.writable,
	}
}

// Tags lists all tags.
func (r *remoteRepository) Tags(ctx context.Context) (all []string, err error) {
	err = r.retrier.Do(ctx, "listing the tags of "+r.String(), func() error {
		all, err = r.tags(ctx)
		return err
	})
	return all, err
}

func (r *remoteRepository) tags(ctx context.Context) ([]string, error) {
	var all []string
	size := 0
	err := r.remote.Tags(ctx, "", func(page []string) error {
		for _, tag := range page {
			size += len(tag)
		}
		if all = append(all, page...); len(all) > maxTags || size > maxTagBytes {
			return fmt.Errorf("there are more than %d tags, or more than %d bytes of them", maxTags, maxTagBytes)
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
	d, body, err := r.fetchManifest(ctx, reference)
	if err != nil {
		return ocispec.Descriptor{}, nil, r.fail("fetching manifest", reference, err)
	}
	defer func() { _ = body.Close() }()
	if want, isDigest := digest.Parse(reference); isDigest == nil {
		d.Digest = want
	}
	data, err := readManifest(body, d)
	if err != nil {
		return ocispec.Descriptor{}, nil, r.fail("fetching manifest", reference, err)
	}
	d.Size = int64(len(data))
	return d, data, nil
}

// fetchManifest counts a manifest before it is read: of many releases at once, each may
// have manifests as large as OpenTofu reads. One that has to wait is given up and requested
// again, because HTTP/2 would keep megabytes of it meanwhile.
func (r *remoteRepository) fetchManifest(ctx context.Context, reference string) (ocispec.Descriptor, io.ReadCloser, error) {
	d, body, err := r.remote.Manifests().FetchReference(ctx, reference)
	if err != nil {
		return d, nil, err
	}
	size := d.Size
	if size < 0 {
		size = artifact.MaxManifestSize
	}
	wait := schedule.ReserveMemory(ctx, size)
	if wait == nil {
		return d, body, nil
	}
	_ = body.Close()
	if err := wait(); err != nil {
		return d, nil, err
	}
	return r.remote.Manifests().FetchReference(ctx, reference)
}

// Stat asks for a blob's size by HEAD.
func (r *remoteRepository) Stat(ctx context.Context, d digest.Digest) (int64, error) {
	found, err := r.remote.Blobs().Resolve(ctx, d.String())
	if err != nil {
		return 0, r.fail("looking for blob", d.String(), err)
	}
	return found.Size, nil
}

// PushManifest uploads a manifest under its digest.
func (r *remoteRepository) PushManifest(ctx context.Context, m artifact.Blob) error {
	if err := r.remote.Manifests().Push(ctx, m.Descriptor, bytes.NewReader(m.Bytes)); err != nil {
		return r.fail("pushing manifest", m.Descriptor.Digest.String(), err)
	}
	return nil
}

// PushTag uploads a manifest under a tag, after a look whether another run
// moved the tag since it was read. A registry cannot do both in one, so every
// try looks again: between two of them another run has time for all of its own.
func (r *remoteRepository) PushTag(ctx context.Context, m artifact.Blob, tag string, was digest.Digest) error {
	return r.retrier.Do(ctx, "tagging "+r.String()+":"+tag, func() error {
		return r.checkAndTag(ctx, m, tag, was)
	})
}

func (r *remoteRepository) checkAndTag(ctx context.Context, m artifact.Blob, tag string, was digest.Digest) error {
	d, err := r.remote.Manifests().Resolve(ctx, tag)
	if err != nil {
		if _, err := exists(r.fail("looking for tag", tag, err)); err != nil {
			return err
		}
	}
	switch d.Digest {
	case was:
	case m.Descriptor.Digest:
		return nil // an earlier try arrived, though its answer did not
	default:
		return fmt.Errorf("tagging %s:%s: %w", r, tag, ErrTagMoved)
	}
	if err := r.remote.Manifests().PushReference(httpclient.WithoutRetry(ctx), m.Descriptor, bytes.NewReader(m.Bytes), tag); err != nil {
		return r.fail("tagging", tag, err)
	}
	return nil
}

// fail says what was done and puts the error into our words.
func (r *remoteRepository) fail(doing, what string, err error) error {
	return r.credentials.fail(Error{
		Op: doing, Registry: r.remote.Reference.Registry, Name: r.remote.Reference.Repository,
		Reference: what, Writing: strings.HasPrefix(doing, "pushing") || doing == "tagging",
	}, err)
}
