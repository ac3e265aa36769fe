package extprog

import (
	"os"
	"os/exec"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Group is a process and its descendants: a job object.
type Group struct{ job windows.Handle }

// accounting is JOBOBJECT_BASIC_ACCOUNTING_INFORMATION.
type accounting struct {
	TotalUserTime, TotalKernelTime, ThisPeriodTotalUserTime, ThisPeriodTotalKernelTime int64
	TotalPageFaultCount, TotalProcesses, ActiveProcesses, TotalTerminatedProcesses     uint32
}

// killedStatus is the exit status of processes that were ended.
const killedStatus = 1

// NewGroup makes a group for the process of cmd, which the context of cmd, which
// was made with one, ends as a whole.
func NewGroup(cmd *exec.Cmd) (*Group, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, os.NewSyscallError("CreateJobObject", err)
	}
	g := &Group{job: job}
	cmd.Cancel = func() error {
		g.Kill()
		// It may not be in the job yet.
		return cmd.Process.Kill()
	}
	return g, nil
}

// Add puts a process into the group. What it starts before that is not in it;
// to start it suspended needs its first thread, which os/exec doesn't give.
// Failing means that the process has ended already, or that its user forbids
// jobs: then only the process itself can be ended.
func (g *Group) Add(p *os.Process) {
	_ = p.WithHandle(func(handle uintptr) {
		_ = windows.AssignProcessToJobObject(g.job, windows.Handle(handle))
	})
}

// Others reports whether there are more processes than the first, which was waited
// for.
func (g *Group) Others() bool {
	var counted accounting
	err := windows.QueryInformationJobObject(g.job, windows.JobObjectBasicAccountingInformation, uintptr(unsafe.Pointer(&counted)), uint32(unsafe.Sizeof(counted)), nil) //nolint:gosec // the call takes a pointer and a size
	return err == nil && counted.ActiveProcesses > 0
}

// PeakMemory is the most that the first process has had so far, in bytes, or 0
// where the system does not tell.
func (g *Group) PeakMemory() int64 {
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	err := windows.QueryInformationJobObject(g.job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)), nil) //nolint:gosec // the call takes a pointer and a size
	if err != nil {
		return 0
	}
	return int64(limits.PeakProcessMemoryUsed) //nolint:gosec // no machine has that much
}

// Kill ends who is left.
func (g *Group) Kill() { _ = windows.TerminateJobObject(g.job, killedStatus) }

// Close returns back what the system holds for the group.
func (g *Group) Close() { _ = windows.CloseHandle(g.job) }
