//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// place is a file system that stores all files of a measurement.
type place struct {
	name, dir string
	// memory reports whether the file system is in memory.
	memory bool
}

// sharedMemory is the in-memory file system on Linux that all users can write to.
const sharedMemory = "/dev/shm"

// places returns an in-memory file system, if the machine provides one, and a directory
// on disk.
func places(disk string) []place {
	found := []place{}
	if info, err := os.Stat(sharedMemory); err == nil && info.IsDir() {
		found = append(found, place{name: "an in-memory file system", dir: sharedMemory, memory: true})
	}
	return append(found, place{name: "a disk", dir: disk})
}

// settle flushes all pending writes, so that one program's output does not slow down
// the next program.
func (p place) settle() {
	if !p.memory {
		syscall.Sync()
	}
}

// fileSystem returns the type of the file system, such as "ext4". If the type is
// unknown, fileSystem returns an empty string.
func (p place) fileSystem() string {
	mounts, err := os.ReadFile("/proc/mounts")
	dir, absErr := filepath.Abs(p.dir)
	if err != nil || absErr != nil {
		return ""
	}
	var longest, kind string
	for line := range strings.Lines(string(mounts)) {
		fields := strings.Fields(line)
		if len(fields) < 3 {
			continue
		}
		at := fields[1]
		if inside := at == "/" || dir == at || strings.HasPrefix(dir, at+"/"); inside && len(at) >= len(longest) {
			longest, kind = at, fields[2]
		}
	}
	return kind
}
