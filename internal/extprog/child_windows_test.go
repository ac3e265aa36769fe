package extprog_test

import "syscall"

// childAttributes are none: a job is not left.
func childAttributes([]string) *syscall.SysProcAttr { return nil }
