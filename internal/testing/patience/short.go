package patience

import "testing"

// SkipIfShort skips a slow test under -short: one that runs for seconds, starts many
// processes or tries every point of failure. make thorough runs them all.
func SkipIfShort(tb testing.TB) {
	tb.Helper()
	if testing.Short() {
		tb.Skip("slow: run without -short")
	}
}
