package extprog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Causes for canceling the context of a run.
var (
	errTime   = errors.New("exceeded the time limit")
	errOutput = errors.New("exceeded the output limit")
)

// Run runs the program and returns the JSON object that it printed, byte for byte. With
// Raw, it returns any output. If the program printed nothing and call allows this, Run
// returns nil. Before Run returns, all processes of the program's group are killed. Run
// returns the context's error, an *[Error], or an error about starting the program.
// Errors never contain the program's input.
func (p Program) Run(ctx context.Context, call Call) ([]byte, error) {
	out, err := p.run(ctx, call)
	if err != nil {
		return nil, fmt.Errorf("running %s: %w", p.Name(), err)
	}
	return out, nil
}

func (p Program) run(ctx context.Context, call Call) ([]byte, error) {
	// 1. Start the timeout.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ctx, stop := context.WithTimeoutCause(ctx, call.timeout(), errTime)
	defer stop()

	// 2. Find the program.
	cmd, err := p.command(ctx, call)
	if err != nil {
		return nil, err
	}

	// 3. Run the program with limited output.
	stdout := &capped{max: call.maxOutput(), over: func() { cancel(errOutput) }}
	stderr := &Tail{}
	finished := started(ctx, cmd.Path)
	err = Execute(cmd, call.Stdin, stdout, stderr)
	finished(err)

	// 4. Check the result.
	cause := context.Cause(ctx)
	var exit *exec.ExitError
	switch {
	case cause != nil && (err != nil || stdout.isOver):
		return nil, ended(cause, call, stderr.Text())
	case errors.As(err, &exit):
		if call.Refusal != nil {
			if err := call.Refusal(stdout.data); err != nil {
				return nil, err
			}
		}
		return nil, &Error{Failure: Exited, Problem: exit.ProcessState.String(), Stderr: stderr.Text()}
	case err != nil:
		return nil, err
	}
	if call.Raw {
		return stdout.data, nil
	}
	return object(stdout.data, call)
}

// ended returns the error for a killed run.
func ended(cause error, call Call, stderr string) error {
	switch {
	case errors.Is(cause, errTime):
		return &Error{Failure: OverLimit, Problem: fmt.Sprintf("the program ran for more than %s", call.timeout()), Stderr: stderr}
	case errors.Is(cause, errOutput):
		return &Error{Failure: OverLimit, Problem: fmt.Sprintf("the program printed more than %d bytes", call.maxOutput()), Stderr: stderr}
	}
	return cause
}

// command finds the program and replaces the placeholders.
func (p Program) command(ctx context.Context, call Call) (*exec.Cmd, error) {
	if len(p.words) == 0 {
		return nil, errors.New("no program to run")
	}
	words := call.fill(p.words)
	path, err := exec.LookPath(words[0])
	if err != nil {
		return nil, notStarted(err)
	}
	// If path were relative, it would be resolved against call.Dir.
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, path, words[1:]...)
	cmd.Args[0] = words[0]
	cmd.Dir = call.Dir
	if call.Inherit != nil {
		cmd.Env = inherited(call.Inherit)
	}
	if len(call.Env) > 0 {
		cmd.Env = append(cmd.Environ(), call.Env...)
	}
	return cmd, nil
}

// inherited returns the named variables of this process. The result is never nil,
// because os/exec would otherwise pass all variables.
func inherited(names []string) []string {
	env := []string{}
	for _, name := range names {
		if value, isSet := os.LookupEnv(name); isSet {
			env = append(env, name+"="+value)
		}
	}
	return env
}
