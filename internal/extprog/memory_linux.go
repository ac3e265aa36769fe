package extprog

import (
	"fmt"
	"os"
	"strings"
)

// PeakMemory is the most that the first process has had resident so far, in bytes,
// or 0 where the system does not tell. It has to be asked while the process runs:
// what is told of one that has ended counts what its parent had when it started it.
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
