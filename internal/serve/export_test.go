package serve

import "time"

// SetTimeouts sets all timeouts of the server to limit. If limit is 0, the server uses
// its defaults.
func SetTimeouts(o *Options, limit time.Duration) {
	o.timeouts = timeouts{limit, limit, limit, limit, limit, limit, limit, limit}
}
