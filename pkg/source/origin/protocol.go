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

// protocol is what can be asked of a registry. Each call is a request.
type protocol interface {
	// discover finds a host's provider registry.
	discover(ctx context.Context, host svchost.Hostname) (service, error)
	// versions lists the versions of a provider.
	versions(ctx context.Context, registry service, a provider.Address) (listing, error)
	// describe gets the package document of a platform, of which the list of
	// versions says version.
	describe(ctx context.Context, registry service, key packageKey, version listed) (description, error)
	// document gets a small file that a package document points at.
	document(ctx context.Context, at *url.URL, limit int64) (file, error)
}

// client asks, and keeps nothing.
type client struct {
	http     *http.Client
	services map[svchost.Hostname]string
	token    func(ctx context.Context, host svchost.Hostname) (Token, error)
}

// document gets a small file. No token goes there, wherever it is: OpenTofu sends
// none either.
func (c client) document(ctx context.Context, at *url.URL, limit int64) (file, error) {
	doc, err := httpclient.Get(ctx, c.http, at, httpclient.Request{Limit: limit})
	return file{doc.Bytes, lastModified(doc)}, err
}

// file is a small file that a package document points at.
type file struct {
	text []byte
	// modified is its date by the server that has it; zero when unknown.
	modified time.Time
}

// maxRemembered bounds the package documents that are kept, and also the documents that
// they refer to, in bytes: a few thousand packages of real providers.
const maxRemembered = 16 << 20

// remembered asks each thing once during a lifetime, as long as there is room for it.
type remembered struct {
	protocol
	services  memo.Memo[svchost.Hostname, service]
	listings  memo.Memo[provider.Address, listing]
	packages  memo.Memo[packageKey, description]
	documents memo.Memo[string, keptFile]
}

// keptFile is a [file] whose text is kept once for all that have the same.
type keptFile struct {
	text     unique.Handle[string]
	modified time.Time
}

// remember decorates a protocol; 0 is a lifetime without end.
func remember(p protocol, lifetime time.Duration) protocol {
	return &remembered{
		protocol:  p,
		services:  memo.Memo[svchost.Hostname, service]{Lifetime: lifetime},
		listings:  memo.Memo[provider.Address, listing]{Lifetime: lifetime},
		packages:  memo.Memo[packageKey, description]{Lifetime: lifetime, Size: maxRemembered, SizeOf: description.weight},
		documents: memo.Memo[string, keptFile]{Lifetime: lifetime, Size: maxRemembered, SizeOf: func(f keptFile) int64 { return int64(len(f.text.Value())) }},
	}
}

func (r *remembered) discover(ctx context.Context, host svchost.Hostname) (service, error) {
	return r.services.Get(ctx, host, func(ctx context.Context) (service, error) {
		return r.protocol.discover(ctx, host)
	})
}

func (r *remembered) versions(ctx context.Context, registry service, a provider.Address) (listing, error) {
	return r.listings.Get(ctx, a, func(ctx context.Context) (listing, error) {
		return r.protocol.versions(ctx, registry, a)
	})
}

func (r *remembered) describe(ctx context.Context, registry service, key packageKey, version listed) (description, error) {
	return r.packages.Get(ctx, key, func(ctx context.Context) (description, error) {
		return r.protocol.describe(ctx, registry, key, version)
	})
}

// document keeps equal documents once, as registries may sign the same URL anew
// for each platform.
func (r *remembered) document(ctx context.Context, at *url.URL, limit int64) (file, error) {
	kept, err := r.documents.Get(ctx, at.String(), func(ctx context.Context) (keptFile, error) {
		f, err := r.protocol.document(ctx, at, limit)
		return keptFile{unique.Make(string(f.text)), f.modified}, err
	})
	if err != nil {
		return file{}, err
	}
	return file{[]byte(kept.text.Value()), kept.modified}, nil
}
