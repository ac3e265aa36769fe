//go:build unix

package extprog

import (
	"os"
	"os/exec"
	"syscall"
)

// group is a process and its descendants, those aside that leave it by setsid or
// setpgid.
type group struct {
	// leader is the process that the group is named after, 0 before it started.
	leader int
}

// newGroup makes the process of cmd the first of a group, which the context of
// cmd ends as a whole. It is in the background of our terminal then: the kernel
// stops a program that asks for a password there, until the time is over.
func newGroup(cmd *exec.Cmd) (*group, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		if err := killGroup(cmd.Process.Pid); err != nil {
			// macOS refuses a group of zombies with EPERM; this one tells
			// os.ErrProcessDone then.
			return cmd.Process.Kill()
		}
		return nil
	}
	return &group{}, nil
}

func (g *group) add(p *os.Process) { g.leader = p.Pid }

// kill ends who is left. The leader is waited for by then: as long as one other
// process is in the group no new process can get its number, and the numbers go
// round before it is used again.
func (g *group) kill() { _ = killGroup(g.leader) }

func (*group) close() {}

func killGroup(leader int) error { return syscall.Kill(-leader, syscall.SIGKILL) }
