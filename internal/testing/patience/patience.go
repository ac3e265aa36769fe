// Package patience extends the time limits of tests. The race detector slows a program
// down many times over, and a loaded machine can pause it for seconds.
package patience

import "time"

// Of returns limit, extended if the test was built with the race detector.
func Of(limit time.Duration) time.Duration { return limit * factor }
