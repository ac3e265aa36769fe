// Command tofu-oci mirrors OpenTofu providers to OCI registries, and installs and
// verifies them.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// In releases, and in builds with make, the linker sets these values. Otherwise, the
// commit and the date come from Go's build information, if available. date is the
// commit date in RFC 3339 format.
var version, commit, date = devVersion, "", ""

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C kills the process
	code := run(ctx, os.Args, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
