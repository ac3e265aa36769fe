package extprog

import "context"

// Trace is told of a program that is started, by its path, and gives what is told of
// its end: nil, or how it failed, with nothing of what it was told or printed. It is
// called concurrently.
type Trace func(path string) (ended func(error))

type traceKey struct{}

// WithTrace lets a trace be told of all that runs with the context, or one made of it.
func WithTrace(ctx context.Context, t Trace) context.Context {
	return context.WithValue(ctx, traceKey{}, t)
}

// started tells the context's trace, if there is one.
func started(ctx context.Context, path string) (ended func(error)) {
	if t, ok := ctx.Value(traceKey{}).(Trace); ok && t != nil {
		return t(path)
	}
	return func(error) {}
}
