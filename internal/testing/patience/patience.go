// Package patience extends the time limits of tests. The race detector makes programs
// many times slower, and a loaded machine can pause them for seconds.
package patience

import "time"

// Of returns limit, extended if the test was built with the race detector.
func Of(limit time.Duration) time.Duration { return limit * factor }
