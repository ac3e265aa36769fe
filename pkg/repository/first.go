package repository

import (
	"net/http"
	"strings"
	"sync"

	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
)

// firstAlone lets the first request for each kind of permission go alone, and the
// others wait for its answer: else each of them would ask for the same token.
type firstAlone struct {
	next remote.Client
	// gates has a channel for each kind, which is closed after the first answer.
	gates sync.Map
}

// Do implements [remote.Client].
func (f *firstAlone) Do(req *http.Request) (*http.Response, error) {
	kind := strings.Join(auth.GetAllScopesForHost(req.Context(), req.URL.Host), " ")
	gate, others := f.gates.LoadOrStore(kind, make(chan struct{}))
	if !others {
		defer close(gate.(chan struct{}))
		return f.next.Do(req)
	}
	select {
	case <-gate.(chan struct{}):
		return f.next.Do(req)
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
}
