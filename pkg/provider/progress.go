package provider

// Progress tells whoever watches what is going on. It is informational: no
// result depends on it. Each function may be nil and may be called from several
// goroutines at once.
type Progress struct {
	// Begin: a package's bytes start to move; total is their number, -1 when it
	// is not known. After a failure the same package may begin again.
	Begin func(p Package, total int64)
	// Advance: n more bytes have moved.
	Advance func(p Package, n int)
	// End: the package has arrived, or err says why not.
	End func(p Package, err error)
	// Retry: an attempt ended in err and another follows.
	Retry func(what string, err error)
}
