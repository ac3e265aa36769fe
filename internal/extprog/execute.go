package extprog

import (
	"io"
	"os/exec"
	"sync"
)

// Execute starts a process in a new process group, waits for it, kills the group, and
// reads the remaining output. It creates the pipes itself, because os/exec either
// closes its pipes when the process exits and loses output, or waits for all processes
// that have the pipes open.
func Execute(cmd *exec.Cmd, input []byte, stdout, stderr io.Writer) error {
	out, err := newStream(stdout)
	if err != nil {
		return err
	}
	defer out.end()
	errs, err := newStream(stderr)
	if err != nil {
		return err
	}
	defer errs.end()
	cmd.Stdout, cmd.Stderr = out.write, errs.write

	g, err := NewGroup(cmd)
	if err != nil {
		return err
	}
	defer g.Close()
	var sending sync.WaitGroup
	defer sending.Wait()
	send, err := sender(cmd, input)
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	g.Add(cmd.Process)
	sending.Go(send)
	// The group is killed before the pipes are drained, because child processes can
	// keep them open.
	defer g.Kill()
	return cmd.Wait()
}

// sender returns a function that writes input to stdin. The program does not need to
// read its input, because Wait closes the pipe.
func sender(cmd *exec.Cmd, input []byte) (func(), error) {
	if input == nil {
		return func() {}, nil
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	return func() {
		_, _ = stdin.Write(input)
		_ = stdin.Close()
	}, nil
}
