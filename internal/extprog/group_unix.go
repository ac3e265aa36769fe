//go:build unix

package extprog

import (
	"os"
	"os/exec"
	"syscall"
)

// Group is a process and its descendants, those aside that leave it by setsid or
// setpgid.
type Group struct {
	// leader is the process that the group is named after, 0 before it started.
	leader int
}

// NewGroup makes the process of cmd the first of a group, which the context of
// cmd, which was made with one, ends as a whole. It is in the background of our terminal then: the kernel
// stops a program that asks for a password there, until the time is over.
func NewGroup(cmd *exec.Cmd) (*Group, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		if err := killGroup(cmd.Process.Pid); err != nil {
			// macOS refuses a group of zombies with EPERM; this one tells
			// os.ErrProcessDone then.
			return cmd.Process.Kill()
		}
		return nil
	}
	return &Group{}, nil
}

// Add says which process it is, once that has started.
func (g *Group) Add(p *os.Process) { g.leader = p.Pid }

// Others reports whether there are more processes than the first, which was waited
// for. One that has ended counts too until somebody waits for it.
func (g *Group) Others() bool { return syscall.Kill(-g.leader, 0) == nil }

// Kill ends who is left. The leader is waited for by then: as long as one other
// process is in the group no new process can get its number, and the numbers go
// round before it is used again.
func (g *Group) Kill() { _ = killGroup(g.leader) }

// Close returns back what the system holds for the group.
func (*Group) Close() {}

func killGroup(leader int) error { return syscall.Kill(-leader, syscall.SIGKILL) }
