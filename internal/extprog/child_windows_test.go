package extprog_test

import "syscall"

// childAttributes returns nil, because processes cannot leave a job object.
func childAttributes([]string) *syscall.SysProcAttr { return nil }
