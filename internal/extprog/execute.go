package extprog

import (
	"io"
	"os/exec"
	"sync"
)

// execute starts a process in a group of its own, waits for it, ends the group,
// and takes what was printed. The pipes are ours, since those of os/exec end with
// the process, and lose output, or with the last that holds them, and hang.
func execute(cmd *exec.Cmd, input []byte, stdout, stderr io.Writer) error {
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
	// Before the pipes are drained, which children could hold open.
	defer g.Kill()
	return cmd.Wait()
}

// sender returns what writes to stdin once the process runs. A program need not
// read its input, so how far that gets doesn't matter: Wait closes the pipe.
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
