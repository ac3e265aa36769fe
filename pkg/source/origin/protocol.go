package origin

import (
	"context"
	"net/http"
	"net/url"
	"time"
	"unique"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/memo"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// protocol contains the requests to a registry.
type protocol interface {
	// discover returns the registry of a host.
	discover(ctx context.Context, host svchost.Hostname) (service, error)
	// versions returns the versions of a provider.
	versions(ctx context.Context, registry service, a provider.Address) (listing, error)
	// describe returns the package document for a platform. version is the entry in the
	// version list.
	describe(ctx context.Context, registry service, key packageKey, version listed) (description, error)
	// document returns a small file that a package document refers to.
	document(ctx context.Context, at *url.URL, limit int64) (file, error)
}

// client sends requests and caches nothing.
type client struct {
	// service is the key of the registry protocol in the discovery document.
	service  string
	http     *http.Client
	services map[svchost.Hostname]string
	token    func(ctx context.Context, host svchost.Hostname) (Token, error)
}

// document requests a small file. Like OpenTofu, it never sends a token, not even to
// the registry.
func (c client) document(ctx context.Context, at *url.URL, limit int64) (file, error) {
	doc, err := httpclient.Get(ctx, c.http, at, httpclient.Request{Limit: limit})
	return file{doc.Bytes, lastModified(doc)}, err
}

// file is a small file that a package document refers to.
type file struct {
	text []byte
	// modified is the file's Last-Modified time, or the zero time if it is unknown.
	modified time.Time
}

// maxRemembered is the maximum size in bytes of the cached package documents. The same
// limit applies to the cached files that these documents refer to. Each limit is enough
// for several thousand packages.
const maxRemembered = 16 << 20

// cachedProtocol caches responses for a lifetime and limits the memory for them.
type cachedProtocol struct {
	protocol
	services  memo.Memo[svchost.Hostname, service]
	listings  memo.Memo[provider.Address, listing]
	packages  memo.Memo[packageKey, description]
	documents memo.Memo[string, keptFile]
}

// keptFile is a [file] with interned text.
type keptFile struct {
	text     unique.Handle[string]
	modified time.Time
}

// remember returns a caching decorator. If lifetime is zero, entries never expire.
func remember(p protocol, lifetime time.Duration) protocol {
	return &cachedProtocol{
		protocol:  p,
		services:  memo.Memo[svchost.Hostname, service]{Lifetime: lifetime},
		listings:  memo.Memo[provider.Address, listing]{Lifetime: lifetime},
		packages:  memo.Memo[packageKey, description]{Lifetime: lifetime, Size: maxRemembered, SizeOf: description.weight},
		documents: memo.Memo[string, keptFile]{Lifetime: lifetime, Size: maxRemembered, SizeOf: func(f keptFile) int64 { return int64(len(f.text.Value())) }},
	}
}

func (r *cachedProtocol) discover(ctx context.Context, host svchost.Hostname) (service, error) {
	return r.services.Get(ctx, host, func(ctx context.Context) (service, error) {
		return r.protocol.discover(ctx, host)
	})
}

func (r *cachedProtocol) versions(ctx context.Context, registry service, a provider.Address) (listing, error) {
	return r.listings.Get(ctx, a, func(ctx context.Context) (listing, error) {
		return r.protocol.versions(ctx, registry, a)
	})
}

func (r *cachedProtocol) describe(ctx context.Context, registry service, key packageKey, version listed) (description, error) {
	return r.packages.Get(ctx, key, func(ctx context.Context) (description, error) {
		return r.protocol.describe(ctx, registry, key, version)
	})
}

// document requests a small file and interns its text, because registries can sign the
// URL of the same file differently for each platform.
func (r *cachedProtocol) document(ctx context.Context, at *url.URL, limit int64) (file, error) {
	kept, err := r.documents.Get(ctx, at.String(), func(ctx context.Context) (keptFile, error) {
		f, err := r.protocol.document(ctx, at, limit)
		return keptFile{unique.Make(string(f.text)), f.modified}, err
	})
	if err != nil {
		return file{}, err
	}
	return file{[]byte(kept.text.Value()), kept.modified}, nil
}
