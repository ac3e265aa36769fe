package serve

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"time"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/internal/serve/access"
	"github.com/tofu-oci/tofu-oci/internal/serve/pullthrough"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/store"
	"github.com/tofu-oci/tofu-oci/pkg/template"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// Defaults of [Options].
const (
	// DefaultMaxAge is how long a list of tags is believed: a release that was pushed
	// is seen within a minute, and a registry is asked for a list once a minute.
	DefaultMaxAge = time.Minute
	// DefaultStaleIfError outlasts a night in which a registry is down.
	DefaultStaleIfError = 12 * time.Hour
	// defaultMemory is enough for the indexes of some 2,000 releases, in bytes.
	defaultMemory = 32 << 20
)

// Signer signs the checksums of releases that nobody signed. A trust.Signer is one.
type Signer interface {
	// Sign gives the detached signature of a document.
	Sign(document []byte) ([]byte, error)
	// Keys gives the public key, armored.
	Keys() []byte
}

// Options of a [Server]. From and Open are needed; durations and sizes that are zero
// are the defaults.
type Options struct {
	// From are the repositories of providers, the first choice first: the first that has
	// a provider answers for it. One that holds another provider, such as the same name
	// of another host, does not have it. Open opens one.
	From []template.Template
	Open func(template.Reference) (repository.Reader, error)
	// Catalog lists the names of a registry's repositories, of which it is told one, as
	// [repository.Catalog] does. Nil is for registries that list none.
	Catalog func(ctx context.Context, at template.Reference) ([]string, error)
	// Providers names what is listed of registries in place of their catalogs; nil asks
	// those. It is called again when MaxAge has passed.
	Providers func() ([]provider.Address, error)
	// Judge says what the signature of a release proves, for those who look at it, as
	// trust.Policy's method does. Nil is a trust.Policy that warns, and goes by the keys that lie with it.
	// What it refuses is served all the same.
	Judge func(context.Context, provider.Release) (provider.Verdict, error)
	// Aliases let releases stand for those of other addresses in the network mirror
	// protocol. In the registry protocol the host never counts.
	Aliases provider.Aliases
	// Unannotated is the host of releases without a provider annotation, in repositories
	// whose template has no {hostname}. If it is empty, such a release is served for any
	// host, but only to callers who may read everything.
	Unannotated svchost.Hostname
	// BaseURL is where clients reach the server, with the path that stands before all
	// of its own. Nil is what the request says.
	BaseURL *url.URL
	// TrustedProxies may say for whom they ask, by X-Forwarded headers.
	TrustedProxies []netip.Prefix
	// Rules say who may read what, and what else is published under names of its own;
	// nil lets everybody read everything. What was given is asked at every request.
	Rules func() *access.Rules
	// Key signs the paths of archives where not everybody may read them.
	Key access.ArchiveKey
	// Limiter bounds the requests of a client; nil bounds nobody's.
	Limiter *access.Limiter
	// Signer signs what nobody has, for the registry protocol; nil leaves it out.
	Signer Signer
	// Store keeps archives; nil keeps none.
	Store *store.Store
	// Redirect sends clients to the storage behind a registry, where that has URLs which
	// need no login. The bytes do not pass the server then; clients verify them.
	Redirect bool
	// PullThrough brings releases that the repositories lack from their origins, when
	// somebody asks for them; nil brings none. A provider that lies nowhere goes to the
	// last of From. Its Told is called beside Events.
	PullThrough *pullthrough.Options
	// Ready says whether what the server depends on can be reached; nil is always.
	Ready func(context.Context) error
	// MaxAge is how long tags are believed, StaleIfError how long after that they are
	// served when a registry does not answer.
	MaxAge, StaleIfError time.Duration
	// Memory bounds what is kept of repositories, in bytes.
	Memory int64
	// Events are told what happens.
	Events Events
	// Now is the clock; nil is [time.Now].
	Now func() time.Time
}

// complete checks the options, and fills in the defaults.
func (o Options) complete() (Options, error) {
	switch {
	case len(o.From) == 0 || o.Open == nil:
		return o, errors.New("no repositories are named")
	case o.MaxAge < 0 || o.StaleIfError < 0 || o.Memory < 0:
		return o, errors.New("ages and sizes must not be negative")
	}
	if u := o.BaseURL; u != nil && (u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.RawQuery != "" || u.Fragment != "" || u.User != nil) {
		return o, fmt.Errorf("the base URL %s must have scheme, host and maybe a path", u.Redacted())
	}
	if o.MaxAge == 0 {
		o.MaxAge = DefaultMaxAge
	}
	if o.StaleIfError == 0 {
		o.StaleIfError = DefaultStaleIfError
	}
	if o.Memory == 0 {
		o.Memory = defaultMemory
	}
	if o.Rules == nil {
		o.Rules = func() *access.Rules { return nil }
	}
	if o.Judge == nil {
		o.Judge = trust.Policy{}.Judge
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o, nil
}
