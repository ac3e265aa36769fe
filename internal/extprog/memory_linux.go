package extprog

import (
	"fmt"
	"os"
	"strings"
)

// PeakMemory returns the first process's peak resident memory in bytes, or 0 if it is
// unknown. It must be called while the process is running. After the process has
// exited, the value also includes its parent's memory at the time of the fork.
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
