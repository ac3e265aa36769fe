//go:build unix

package main

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
)

// machine describes what this runs on, without names: processor, cores, memory,
// system. What the system does not tell is left out.
func machine() string {
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

// match gives the first group of a pattern in a file, or "".
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

// versions lists the programs.
func (p programs) versions(ctx context.Context) (string, error) {
	var list []string
	for _, program := range []string{p.crane, p.regctl, p.regsync, p.tofu, p.terraform, p.registry} {
		built, err := buildinfo.ReadFile(program)
		if err != nil {
			return "", err
		}
		list = append(list, filepath.Base(built.Path)+" "+built.Main.Version)
	}
	for _, program := range []string{p.tofuOCI, p.curl, p.sha256sum} {
		said, err := exec.CommandContext(ctx, program, "--version").Output()
		if err != nil {
			return "", fmt.Errorf("%s --version: %w", program, err)
		}
		first, _, _ := strings.Cut(string(said), "\n")
		list = append(list, filepath.Base(program)+" "+versionInLine.FindString(first))
	}
	return strings.Join(append(list, runtime.Version()), ", "), nil
}

// versionInLine is what stands in the first line that a program prints of itself:
// a number, or what git describe or the linker put there.
var versionInLine = regexp.MustCompile(`(v?[0-9]+\.[0-9][^ ]*|[0-9a-f]{7,}[^ ]*|dev)`)
