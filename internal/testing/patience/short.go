package patience

import "testing"

// SkipIfShort skips a slow test under -short: a test that takes seconds, starts many
// processes, or tries every point of failure. make thorough runs all tests.
func SkipIfShort(tb testing.TB) {
	tb.Helper()
	if testing.Short() {
		tb.Skip("slow: run without -short")
	}
}
