//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// place is a file system that everything is read from and written to.
type place struct {
	name, dir string
	// memory: it keeps nothing on a disk.
	memory bool
}

// sharedMemory is where Linux has a memory file system that everybody may use.
const sharedMemory = "/dev/shm"

// places are a memory file system, where there is one, and a directory on a disk.
func places(disk string) []place {
	found := []place{}
	if info, err := os.Stat(sharedMemory); err == nil && info.IsDir() {
		found = append(found, place{name: "an in-memory file system", dir: sharedMemory, memory: true})
	}
	return append(found, place{name: "a disk", dir: disk})
}

// settle has everything written, so that one program's output does not burden the
// next one's.
func (p place) settle() {
	if !p.memory {
		syscall.Sync()
	}
}

// fileSystem is the kind of the file system, such as "ext4"; empty where the
// system does not tell.
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
