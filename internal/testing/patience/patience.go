// Package patience lengthens what tests wait for. A program with the race detector in
// it is many times slower, and one that is tested beside others stands still for
// whole seconds: a limit of half a second says nothing there.
package patience

import "time"

// Of returns a limit that holds in a program built as the test is.
func Of(limit time.Duration) time.Duration { return limit * factor }
