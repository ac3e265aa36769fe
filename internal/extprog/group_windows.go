package extprog

import (
	"os"
	"os/exec"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Group is a process and its descendants, in a job object.
type Group struct{ job windows.Handle }

// accounting is JOBOBJECT_BASIC_ACCOUNTING_INFORMATION.
type accounting struct {
	TotalUserTime, TotalKernelTime, ThisPeriodTotalUserTime, ThisPeriodTotalKernelTime int64
	TotalPageFaultCount, TotalProcesses, ActiveProcesses, TotalTerminatedProcesses     uint32
}

// killedStatus is the exit status of killed processes.
const killedStatus = 1

// NewGroup creates a group for the process of cmd. When the context of cmd is canceled,
// the whole group is killed.
func NewGroup(cmd *exec.Cmd) (*Group, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, os.NewSyscallError("CreateJobObject", err)
	}
	g := &Group{job: job}
	cmd.Cancel = func() error {
		g.Kill()
		// The process might not have been added to the job.
		return cmd.Process.Kill()
	}
	return g, nil
}

// Add adds a process to the group. It does not add processes that this process has
// already started. To include them, the process would need to start suspended, but
// os/exec does not provide the thread handle that is required to resume it. Add fails
// if the process has exited, or if the user is not allowed to create jobs. In this
// case, only the process itself can be killed.
func (g *Group) Add(p *os.Process) {
	_ = p.WithHandle(func(handle uintptr) {
		_ = windows.AssignProcessToJobObject(g.job, windows.Handle(handle))
	})
}

// Others reports whether the group has processes other than the first process. The
// caller must already have waited for the first process.
func (g *Group) Others() bool {
	var counted accounting
	err := windows.QueryInformationJobObject(g.job, windows.JobObjectBasicAccountingInformation, uintptr(unsafe.Pointer(&counted)), uint32(unsafe.Sizeof(counted)), nil) //nolint:gosec // the call requires a pointer and a size
	return err == nil && counted.ActiveProcesses > 0
}

// PeakMemory returns the first process's peak memory in bytes, or 0 if it is unknown.
func (g *Group) PeakMemory() int64 {
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	err := windows.QueryInformationJobObject(g.job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)), nil) //nolint:gosec // the call requires a pointer and a size
	if err != nil {
		return 0
	}
	return int64(limits.PeakProcessMemoryUsed) //nolint:gosec // cannot overflow
}

// Kill kills the remaining processes.
func (g *Group) Kill() { _ = windows.TerminateJobObject(g.job, killedStatus) }

// Close releases the resources of the group.
func (g *Group) Close() { _ = windows.CloseHandle(g.job) }
