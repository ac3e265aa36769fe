package origintest

import (
	"net/http"
	"sync"
)

// Together holds requests until n requests have arrived. It then responds honestly to
// these requests and all later requests. most returns the maximum number of concurrent
// requests. The result exceeds n if the client does not limit itself to n concurrent
// requests.
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
		// This must happen before the response, because the client can send its next
		// request immediately after the response.
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
