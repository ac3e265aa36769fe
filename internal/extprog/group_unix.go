//go:build unix

package extprog

import (
	"os"
	"os/exec"
	"syscall"
)

// Group is a process and its descendants. It excludes descendants that leave the group
// with setsid or setpgid.
type Group struct {
	// leader is the process ID of the group's leader. It is 0 before the process
	// starts.
	leader int
}

// NewGroup makes the process of cmd the leader of a new process group. When the context
// of cmd is canceled, the whole group is killed. The group runs in the background of
// the terminal. If a program reads a password from the terminal, the kernel therefore
// stops it until the timeout expires.
func NewGroup(cmd *exec.Cmd) (*Group, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		if err := killGroup(cmd.Process.Pid); err != nil {
			// If all processes in the group are zombies, macOS returns EPERM. In this
			// case, the following call returns os.ErrProcessDone.
			return cmd.Process.Kill()
		}
		return nil
	}
	return &Group{}, nil
}

// Add records the leader after the leader has started.
func (g *Group) Add(p *os.Process) { g.leader = p.Pid }

// Others reports whether the group has processes other than its leader. The caller must
// already have waited for the leader. Zombies are included.
func (g *Group) Others() bool { return syscall.Kill(-g.leader, 0) == nil }

// Kill kills the remaining processes. The caller must already have waited for the
// leader. While the group has processes, no new process gets the group's ID. If the
// group is empty, its ID is not reused for a long time.
func (g *Group) Kill() { _ = killGroup(g.leader) }

// Close releases the resources of the group.
func (*Group) Close() {}

func killGroup(leader int) error { return syscall.Kill(-leader, syscall.SIGKILL) }
