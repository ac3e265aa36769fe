package launch

import "time"

// ErrTime is the cause of a canceled context when the time limit has passed. A test that
// cancels a context with ErrTime decides when the time limit passes.
var ErrTime = errTime

// WithDelays returns options with the given delays. A zero delay selects the default.
func (o Options) WithDelays(exit, strays time.Duration) Options {
	o.delays = delays{exit, strays}
	return o
}
