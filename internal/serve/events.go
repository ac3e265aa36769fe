package serve

import (
	"time"

	"github.com/tofu-oci/tofu-oci/internal/serve/pullthrough"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Events contains callbacks for logs and metrics. Each callback can be nil. The
// callbacks are called concurrently.
type Events struct {
	// OnRequest is called after each response.
	OnRequest func(RequestEvent)
	// OnOmitted is called when a release is omitted from the registry protocol because
	// clients would not install it.
	OnOmitted func(a provider.Address, v provider.Version, reason string)
	// OnLookup is called for each cache lookup. what is the kind of data, such as
	// "tags", "index", "documents", or "archive". hit reports whether the value was
	// cached.
	OnLookup func(what string, hit bool)
	// OnFailure is called for each failed request to a repository. kind is one of nine
	// labels. Despite the failure, clients might have received stale data.
	OnFailure func(kind string, err error)
	// OnPull is called for each event of a pull from an origin registry.
	OnPull func(pullthrough.Event)
}

// RequestEvent describes a request and its response. It contains no secrets, but it can
// contain untrusted text, which must be escaped for output.
type RequestEvent struct {
	// Route is the route of the request, such as "archive". The server has about thirty
	// routes.
	Route string
	// Method and Path are from the request. If the path contains a token, the token is
	// replaced.
	Method, Path string
	// Client is the client's address. Caller is the client's name in the access rules.
	Client, Caller string
	Status         int
	// Bytes is the number of bytes sent in the body.
	Bytes int64
	// Duration is the time from the request to the end of the response.
	Duration time.Duration
	// Repository is the repository that the response is based on. It is empty if the
	// response required no repository.
	Repository string
	// Age is the time since the repository's data was requested.
	Age time.Duration
	// Stale is the error that caused stale data to be served, or nil.
	Stale error
	// Err is the error with which the request failed, or nil.
	Err error
	// Refused is the label of the reason the request was rejected, such as "token". It
	// is one of about ten labels, or empty if the client is not at fault.
	Refused string
}

func (e Events) onRequest(a RequestEvent) {
	if e.OnRequest != nil {
		e.OnRequest(a)
	}
}

func (e Events) onOmitted(a provider.Address, v provider.Version, reason string) {
	if e.OnOmitted != nil {
		e.OnOmitted(a, v, reason)
	}
}

func (e Events) onPull(what pullthrough.Event) {
	if e.OnPull != nil {
		e.OnPull(what)
	}
}

// lookups returns the OnLookup callback for a cache.
func (e Events) lookups(what string) func(hit bool) {
	return func(hit bool) {
		if e.OnLookup != nil {
			e.OnLookup(what, hit)
		}
	}
}

func (e Events) onFailure(err error) {
	if kind := errorLabel(err); kind != "" && e.OnFailure != nil {
		e.OnFailure(kind, err)
	}
}
