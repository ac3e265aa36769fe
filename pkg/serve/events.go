package serve

import (
	"time"

	"github.com/tofu-oci/tofu-oci/internal/serve/pullthrough"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Events are told what happens. Each function may be nil, and is called by several
// requests at once.
type Events struct {
	// Answered is told of every request, when it has ended.
	OnRequest func(RequestEvent)
	// LeftOut is told of a release that the registry protocol does not show, and why,
	// when that is found out.
	OnOmitted func(a provider.Address, v provider.Version, why string)
	// Looked is told of every look into what is kept: "tags", "index", "manifest",
	// "evidence", "versions", for the API "catalog", "owner", "summary", "blobs", "report",
	// "pending" or "components", or "archive" where archives are kept. It was a hit when nobody had to
	// be asked.
	OnLookup func(what string, hit bool)
	// Failed is told of every question to a repository that came to nothing, and of the
	// kind of its error; one of nine words. Clients may have got an older answer.
	OnFailure func(kind string, err error)
	// Pulled is told what becomes of releases that are brought from their origins.
	OnPull func(pullthrough.Event)
}

// Answered is a request and what became of it. Texts come from the network: whoever
// prints them escapes them. No secret is in it.
type RequestEvent struct {
	// Route is the kind of the request, such as "archive"; one of some twenty words.
	Route string
	// Method and Path are the request's; a token in the path is left out.
	Method, Path string
	// Client is the address of who sent it, Caller the name that the gate gives him.
	Client, Caller string
	Status         int
	// Bytes of the body that were sent.
	Bytes int64
	// Duration is from when the request arrived until its answer was sent.
	Duration time.Duration
	// Repository is the one that the answer comes from; empty where none was asked.
	Repository string
	// Age is how long ago the answer was learned from it.
	Age time.Duration
	// Stale is why the answer was not learned anew; nil when it is fresh.
	Stale error
	// Err is why the answer is not what was asked for; nil when it is.
	Err error
	// Refused is why the client itself may not have the answer, such as "token"; one of
	// ten words, and empty where the client is not the reason.
	Refused string
}

func (e Events) onRequest(a RequestEvent) {
	if e.OnRequest != nil {
		e.OnRequest(a)
	}
}

func (e Events) onOmitted(a provider.Address, v provider.Version, why string) {
	if e.OnOmitted != nil {
		e.OnOmitted(a, v, why)
	}
}

func (e Events) onPull(what pullthrough.Event) {
	if e.OnPull != nil {
		e.OnPull(what)
	}
}

// looks returns what is told of looks into one memory.
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
