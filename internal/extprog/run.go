package extprog

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
)

// What ended a run, as causes of its context.
var (
	errTime   = errors.New("over the time limit")
	errOutput = errors.New("over the output limit")
)

// Run runs the program and gives the JSON object that it printed, byte for byte,
// or nil when it printed nothing and may. Every process of its group is ended by
// then. Errors are those of the context, *[ExitError], *[LimitError],
// *[OutputError], or say why the program did not start: [exec.ErrNotFound] when
// it is not in PATH. None of them tells what was sent to it.
func (p Program) Run(ctx context.Context, call Call) ([]byte, error) {
	out, err := p.run(ctx, call)
	if err != nil {
		return nil, fmt.Errorf("running %s: %w", p.Name(), err)
	}
	return out, nil
}

func (p Program) run(ctx context.Context, call Call) ([]byte, error) {
	// 1. The time starts, and with the context it ends.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ctx, stop := context.WithTimeoutCause(ctx, call.timeout(), errTime)
	defer stop()

	// 2. The words find their program.
	cmd, err := p.command(ctx, call)
	if err != nil {
		return nil, err
	}
	input, err := call.input()
	if err != nil {
		return nil, err
	}

	// 3. It runs, and what it prints is kept within bounds.
	stdout := &capped{max: call.maxOutput(), over: func() { cancel(errOutput) }}
	stderr := &Tail{}
	tell := started(ctx, cmd.Path)
	err = execute(cmd, input, stdout, stderr)
	tell(err)

	// 4. What came back is judged.
	cause := context.Cause(ctx)
	var exit *exec.ExitError
	switch {
	case cause != nil && (err != nil || stdout.isOver):
		return nil, ended(cause, call, stderr.Text())
	case errors.As(err, &exit):
		return nil, call.refused(stdout.data, &ExitError{State: exit.ProcessState, Stderr: stderr.Text()})
	case err != nil:
		return nil, err
	}
	return object(stdout.data, call)
}

// ended says why a run was ended from outside.
func ended(cause error, call Call, stderr string) error {
	switch {
	case errors.Is(cause, errTime):
		return &LimitError{Limit: fmt.Sprintf("it ran for more than %s", call.timeout()), Stderr: stderr}
	case errors.Is(cause, errOutput):
		return &LimitError{Limit: fmt.Sprintf("it printed more than %d bytes", call.maxOutput()), Stderr: stderr}
	}
	return cause
}

// command finds the program and fills in the placeholders.
func (p Program) command(ctx context.Context, call Call) (*exec.Cmd, error) {
	words, err := split(p.line)
	if err != nil {
		return nil, err
	}
	for i, word := range words {
		if words[i], err = call.fill(word); err != nil {
			return nil, err
		}
	}
	path, err := exec.LookPath(words[0])
	if err != nil {
		return nil, notStarted(err)
	}
	// Else it would be looked for below call.Dir.
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, path, words[1:]...)
	cmd.Args[0] = words[0]
	cmd.Dir = call.Dir
	if len(call.Env) > 0 {
		cmd.Env = append(cmd.Environ(), call.Env...)
	}
	return cmd, nil
}
