package exec

import "time"

// SetTimeouts sets all timeouts to limit.
func SetTimeouts(o *Options, limit time.Duration) { o.timeouts = timeouts{limit, limit} }
