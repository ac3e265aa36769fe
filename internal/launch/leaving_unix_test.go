//go:build unix

package launch_test

import "syscall"

// leaving starts a child outside the process group of its parent.
func leaving() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
