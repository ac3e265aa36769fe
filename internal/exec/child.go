package exec

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
)

// child is the process to run.
type child struct {
	Options
	program string
	environ []string
}

// run starts the child, forwards signals to it, and waits until it exits. Signals don't
// terminate this process, even if the child ignores them.
func (c child) run() (code int, err error) {
	cmd := exec.Command(c.program, c.Command[1:]...) //nolint:noctx // signals are forwarded
	cmd.Args[0] = c.Command[0]
	cmd.Dir, cmd.Env = c.Dir, c.environ
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, c.Stdout, c.Stderr
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, handled...)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 0, startError(c.Command[0], unwrapPath(err))
	}
	done := make(chan struct{})
	go func() {
		for {
			select {
			case s := <-signals:
				forward(cmd.Process, s)
			case <-done:
				return
			}
		}
	}()
	err = cmd.Wait()
	close(done)
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		return 0, &StartError{Command: c.Command[0], Code: codeNotExecutable, Err: err}
	}
	return exitCode(cmd.ProcessState), nil
}

// unwrapPath removes the path from an error, because the caller adds the command.
func unwrapPath(err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err
	}
	return err
}
