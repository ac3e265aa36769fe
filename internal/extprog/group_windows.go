package extprog

import (
	"os"
	"os/exec"

	"golang.org/x/sys/windows"
)

// group is a process and its descendants: a job object.
type group struct{ job windows.Handle }

// killedStatus is the exit status of processes that were ended.
const killedStatus = 1

// newGroup makes a group for the process of cmd, which the context of cmd ends
// as a whole.
func newGroup(cmd *exec.Cmd) (*group, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, os.NewSyscallError("CreateJobObject", err)
	}
	g := &group{job: job}
	cmd.Cancel = func() error {
		g.kill()
		// It may not be in the job yet.
		return cmd.Process.Kill()
	}
	return g, nil
}

// add puts a process into the group. What it starts before that is not in it;
// to start it suspended needs its first thread, which os/exec doesn't give.
// Failing means that the process has ended already, or that its user forbids
// jobs: then only the process itself can be ended.
func (g *group) add(p *os.Process) {
	_ = p.WithHandle(func(handle uintptr) {
		_ = windows.AssignProcessToJobObject(g.job, windows.Handle(handle))
	})
}

func (g *group) kill() { _ = windows.TerminateJobObject(g.job, killedStatus) }

func (g *group) close() { _ = windows.CloseHandle(g.job) }
