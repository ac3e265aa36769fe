package origintest

import (
	"net/http"
	"sync"
)

// Together lets requests wait until n of them are there at the same time, and
// then answers these and all later ones honestly. Most tells how many there were
// at once, which is more than n when the client has no such limit.
func Together(n int) (fault Fault, most func() int) {
	var mu sync.Mutex
	now, top, full := 0, 0, make(chan struct{})
	fault = func(w http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		mu.Lock()
		if now++; now > top {
			if top = now; top == n {
				close(full)
			}
		}
		mu.Unlock()
		select {
		case <-full:
		case <-r.Context().Done():
		}
		// Before the answer: the client may ask for the next when this one has come.
		mu.Lock()
		now--
		mu.Unlock()
		honest(w, r)
	}
	return fault, func() int {
		mu.Lock()
		defer mu.Unlock()
		return top
	}
}
