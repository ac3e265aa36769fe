package extprog

import (
	"fmt"
	"os"
	"strings"
)

// PeakMemory returns the peak resident memory of the first process in bytes, or 0 if it
// is unknown. It must be called while the process runs: the value for a process that
// has exited includes the memory of its parent at the time of the fork.
func (g *Group) PeakMemory() int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", g.leader))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		var kilobytes int64
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kilobytes); n == 1 {
			return kilobytes << 10
		}
	}
	return 0
}
