package serve

import "time"

// timeouts specifies how long the server waits.
type timeouts struct {
	// response is how long a caller waits for new data if no stale data is available.
	// Clients time out after ten seconds and then don't report a reason.
	response time.Duration
	// stale is how long a caller waits for new data if stale data is available.
	stale time.Duration
	// home limits how long the home page waits for data that it can omit.
	home time.Duration
	// detached limits the duration of a request to a repository or an origin if all
	// callers have stopped waiting. A late response is cached for the next caller.
	detached time.Duration
	// header is the time within which a client must send its request header. body is
	// the time limit for a request body, which the server never reads.
	header, body time.Duration
	// write is how long a write to a client can block.
	write time.Duration
	// idle is the maximum duration of an idle connection. It exceeds the 60 seconds
	// after which reverse proxies close idle connections, because proxies must close
	// them first.
	idle time.Duration
}

func defaultTimeouts() timeouts {
	return timeouts{
		response: 8 * time.Second, stale: 2 * time.Second, home: 1500 * time.Millisecond, detached: 2 * time.Minute,
		header: 10 * time.Second, body: time.Second, write: time.Minute, idle: 90 * time.Second,
	}
}
