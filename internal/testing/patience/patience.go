// Package patience contains what tests need so that a slow machine only makes them
// slower: the time limit for everything that must succeed, and the rule for slow tests.
package patience

import "time"

// Limit is the time limit that a test sets where code requires one but the test expects
// it never to pass: a machine that is a hundred times slower still meets it. A test that
// waits for an event needs no limit. If it hangs, go test's own timeout prints all stacks.
const Limit = time.Hour
