package registrytest

import (
	"net/http"
	"strings"
	"sync"
)

// Overwrite makes the next two pushes of a tag race in the worst order. Both clients
// read the tag before either client writes the tag. The second client writes the tag
// after the first client has verified its write.
func (r *Registry) Overwrite(tag string) {
	var mu sync.Mutex
	pushes := 0
	second, written, readBack := make(chan struct{}), make(chan struct{}), make(chan struct{})
	once := sync.OnceFunc(func() { close(readBack) })
	wait := func(req *http.Request, c <-chan struct{}) {
		select {
		case <-c:
		case <-req.Context().Done():
		}
	}
	isTag := func(req *http.Request) bool { return strings.HasSuffix(req.URL.Path, "/manifests/"+tag) }
	r.Misbehave(ManifestPut, func(w http.ResponseWriter, req *http.Request, honest http.HandlerFunc) {
		if !isTag(req) {
			honest(w, req)
			return
		}
		mu.Lock()
		pushes++
		n := pushes
		mu.Unlock()
		switch n {
		case 1:
			wait(req, second)
			honest(w, req)
			close(written)
		case 2:
			close(second)
			wait(req, readBack)
			honest(w, req)
		default:
			honest(w, req)
		}
	}, -1)
	r.Misbehave(ManifestGet, func(w http.ResponseWriter, req *http.Request, honest http.HandlerFunc) {
		honest(w, req)
		select {
		case <-written:
			if isTag(req) {
				once()
			}
		default:
		}
	}, -1)
}
