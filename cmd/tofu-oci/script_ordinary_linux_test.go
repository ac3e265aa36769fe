package main_test

import (
	"os"
	"runtime"
	"syscall"

	main "github.com/tofu-oci/tofu-oci/cmd/tofu-oci"
)

// Constants of prctl(2) and capabilities(7).
const (
	prCapBSetDrop     = 24
	capDACOverride    = 1
	capDACReadSearch  = 2
	environmentOfRoot = "ORDINARY"
)

// ordinary runs the program so that file permissions apply. If ORDINARY is set in the
// environment, it drops the capabilities with which root bypasses file permissions.
func ordinary() {
	if os.Getenv(environmentOfRoot) == "" || os.Geteuid() != 0 {
		main.Main()
		return
	}
	runtime.LockOSThread() // capabilities belong to the thread until it executes another program
	for _, right := range []uintptr{capDACOverride, capDACReadSearch} {
		if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prCapBSetDrop, right, 0); errno != 0 {
			panic(errno)
		}
	}
	if err := os.Unsetenv(environmentOfRoot); err != nil {
		panic(err)
	}
	panic(syscall.Exec("/proc/self/exe", os.Args, os.Environ()))
}
