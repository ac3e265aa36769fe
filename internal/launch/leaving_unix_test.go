//go:build unix

package launch_test

import "syscall"

// leaving lets a child leave the group of its parent.
func leaving() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
