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
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/store"
	"github.com/tofu-oci/tofu-oci/pkg/template"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// Defaults of [Options].
const (
	// DefaultMaxAge is the default for MaxAge. With this default, a new release appears
	// within a minute, and each tag list is requested at most once per minute.
	DefaultMaxAge = time.Minute
	// DefaultStaleIfError is the default for StaleIfError. It is long enough to cover
	// an overnight outage of a registry.
	DefaultStaleIfError = 12 * time.Hour
	// defaultMemory is the default for Memory in bytes. It is enough for the indexes of
	// about 2,000 releases.
	defaultMemory = 32 << 20
)

// Options configures a [Server]. Open and at least one of From and ModulesFrom are
// required. Durations and sizes that are zero use their defaults.
type Options struct {
	// From lists the repository templates in order of preference. The server uses the
	// first repository that contains the provider. It skips repositories with a
	// provider of the same name from another host. Open opens a repository.
	From []template.Template
	Open func(template.Reference) (repository.Reader, error)
	// ModulesFrom lists the templates for module repositories, in order of preference.
	// If empty, the server doesn't serve modules. If OCIModules is set, the server
	// refers OpenTofu 1.10 and later to the registry. Access rules and Redirect don't
	// apply to these downloads. Other clients download modules from the server.
	ModulesFrom []template.ModuleTemplate
	OCIModules  bool
	// Catalog lists the names of the repositories in a registry, like
	// [repository.Catalog]. at refers to any repository in the registry. If Catalog is
	// nil, the server can't list repositories.
	Catalog func(ctx context.Context, at template.Reference) ([]string, error)
	// Providers returns the providers to list instead of the providers in registry
	// catalogs. It is called again after MaxAge. If nil, the catalogs are used.
	Providers func() ([]provider.Address, error)
	// Verify verifies the signature of a release for the API and the pages. If nil, the
	// zero trust.Policy is used, which only warns and trusts the keys in the artifact.
	// The server still serves releases that Verify rejects.
	Verify func(context.Context, provider.Release) (provider.Verdict, error)
	// Approval specifies which providers require signed approvals. Releases of these
	// providers without such an approval are not served. See
	// [trust.Policy.CheckApproval]. If a rule requires approval, PullThrough must be
	// nil.
	Approval trust.Policy
	// Aliases allows the network mirror protocol to serve releases that are stored
	// under different addresses. The registry protocol always ignores the host.
	Aliases provider.Aliases
	// Unannotated is the assumed host of releases without a provider annotation, in
	// repositories whose template doesn't contain {hostname}. If empty, these releases
	// are served for any host, but only to callers who can read everything.
	Unannotated svchost.Hostname
	// BaseURL is the URL of the server as seen by clients, including its path prefix.
	// If nil, it is derived from each request.
	BaseURL *url.URL
	// TrustedProxies lists the networks of proxies whose X-Forwarded headers are
	// honored.
	TrustedProxies []netip.Prefix
	// Rules returns the current access rules, which also define additional published hosts.
	// It is called for every request. If Rules or its result is nil, everyone can read
	// everything.
	Rules func() *access.Rules
	// Key signs the links to archives if access is restricted.
	Key access.ArchiveKey
	// Limiter limits the request rate of each client. If nil, the rate is not limited.
	Limiter *access.Limiter
	// Signer signs unsigned releases for the registry protocol. If nil, unsigned
	// releases are omitted.
	Signer artifact.Signer
	// Store caches archives. If nil, archives are not cached.
	Store *store.Store
	// Redirect redirects clients to the storage behind a registry if the registry
	// provides URLs that require no credentials. Clients then verify the archives
	// themselves.
	Redirect bool
	// PullThrough pulls missing releases from their origin registries on request. If
	// nil, missing releases are not pulled. A provider or module that is in no
	// repository is stored in the repository of the last template in From or
	// ModulesFrom. Events.OnPull replaces PullThrough.OnEvent.
	PullThrough *pullthrough.Options
	// Ready returns an error if the repositories can't be reached. Its result is used for a
	// few seconds. If nil, the server assumes that the repositories are reachable.
	Ready func(context.Context) error
	// Title is the title of the pages. If empty, "tofu-oci" is used.
	Title string
	// SyncResult returns the result of the last sync run, which the pages show. It is
	// called again after MaxAge. If nil, the pages don't show a result.
	SyncResult func() (SyncResult, error)
	// MaxAge is the maximum age of cached tags. StaleIfError is the maximum age of the
	// data that is served if a registry does not respond.
	MaxAge, StaleIfError time.Duration
	// Memory limits the memory for cached data, in bytes.
	Memory int64
	// Events contains callbacks that are called for requests and cache lookups.
	Events Events
	// Now returns the current time. If nil, [time.Now] is used.
	Now func() time.Time
	// timeouts is [defaultTimeouts] except in tests.
	timeouts timeouts
}

// complete validates the options and sets defaults.
func (o Options) complete() (Options, error) {
	switch {
	case len(o.From)+len(o.ModulesFrom) == 0 || o.Open == nil:
		return o, errors.New("no repositories")
	case o.PullThrough != nil && len(o.PullThrough.Patterns) > 0 && len(o.From) == 0:
		return o, errors.New("pull-through of providers requires provider repositories")
	case o.PullThrough != nil && len(o.PullThrough.Modules) > 0 && len(o.ModulesFrom) == 0:
		return o, errors.New("pull-through of modules requires module repositories")
	case o.PullThrough != nil && len(o.PullThrough.Patterns) > 0 && o.Approval.HasApprovalRules():
		return o, errors.New("pull-through serves unapproved releases, so it cannot be used if the trust file requires approvals")
	case o.MaxAge < 0 || o.StaleIfError < 0 || o.Memory < 0:
		return o, errors.New("ages and sizes must not be negative")
	}
	if u := o.BaseURL; u != nil && (u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.RawQuery != "" || u.Fragment != "" || u.User != nil) {
		return o, fmt.Errorf("invalid base URL %s: want a scheme, a host, and an optional path", u.Redacted())
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
	if o.Verify == nil {
		o.Verify = trust.Policy{}.Verify
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.timeouts == (timeouts{}) {
		o.timeouts = defaultTimeouts()
	}
	return o, nil
}
