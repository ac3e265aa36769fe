package extprog

import "context"

// Trace is called with the path of each program that is started. The returned function
// is called when the program exits. Its argument is nil or an error that contains
// neither input nor output. Trace can be called concurrently.
type Trace func(path string) (ended func(error))

type traceKey struct{}

// WithTrace returns a context whose runs call t.
func WithTrace(ctx context.Context, t Trace) context.Context {
	return context.WithValue(ctx, traceKey{}, t)
}

// started calls the context's trace, if any.
func started(ctx context.Context, path string) (ended func(error)) {
	if t, ok := ctx.Value(traceKey{}).(Trace); ok && t != nil {
		return t(path)
	}
	return func(error) {}
}
