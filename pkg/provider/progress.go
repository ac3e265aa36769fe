package provider

// Progress contains callbacks that report the progress of transfers. They don't affect
// any results. Each callback can be nil. Callbacks can be called concurrently.
type Progress struct {
	// Begin is called when the transfer of a package starts. total is the size of the
	// package in bytes, or -1 if unknown. After a failure, the transfer of the same
	// package can start again.
	Begin func(p Package, total int64)
	// Advance is called after n more bytes have been transferred.
	Advance func(p Package, n int)
	// End is called when the transfer of a package ends. err is nil if it succeeded.
	End func(p Package, err error)
	// Retry is called if an attempt failed with err and another attempt follows.
	Retry func(what string, err error)
	// Omit is called if a list from a server or directory contains invalid entries, which
	// are ignored. err describes them.
	Omit func(list string, err error)
}
