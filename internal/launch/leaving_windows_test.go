package launch_test

import "syscall"

// leaving returns nil, because processes cannot leave a job object.
func leaving() *syscall.SysProcAttr { return nil }
