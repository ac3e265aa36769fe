package page

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
)

// Machine describes the machine's processor, cores, memory, and system. The description
// contains no names and omits unknown facts.
func Machine() string {
	parts := []string{fmt.Sprintf("%d cores", runtime.NumCPU())}
	if model := match("/proc/cpuinfo", `model name\s*: (.+)`); model != "" {
		parts = append([]string{model}, parts...)
	}
	if kib, err := strconv.Atoi(match("/proc/meminfo", `MemTotal:\s+(\d+) kB`)); err == nil {
		parts = append(parts, fmt.Sprintf("%.0f GiB of memory", float64(kib)/(1<<20)))
	}
	system := runtime.GOOS + "/" + runtime.GOARCH
	if kernel := match("/proc/sys/kernel/osrelease", `([0-9.]+)`); kernel != "" {
		system += ", kernel " + kernel
	}
	return strings.Join(append(parts, system), ", ")
}

// match returns the first group of a pattern's match in a file. If the pattern does not
// match, match returns an empty string.
func match(file, pattern string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	if found := regexp.MustCompile(pattern).FindSubmatch(text); found != nil {
		return strings.TrimSpace(string(found[1]))
	}
	return ""
}
