package exec_test

// signalled does nothing, because Windows has no signals.
func signalled(string) (code int) { return 1 }
