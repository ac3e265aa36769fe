package patience

import "testing"

// SkipIfShort skips a slow test if -short is set. Slow tests take seconds, start many
// processes, or try every point of failure. make test runs all tests.
func SkipIfShort(tb testing.TB) {
	tb.Helper()
	if testing.Short() {
		tb.Skip("slow: run without -short")
	}
}
