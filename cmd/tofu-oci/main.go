// Command tofu-oci brings OpenTofu providers into OCI registries and out again.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// What the linker is told by make build and in releases: Go itself knows a checkout's
// commit only where git and -buildvcs let it. The date is the commit's, as in RFC 3339.
var version, commit, date = devVersion, "", ""

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second Ctrl-C ends the process at once
	code := run(ctx, os.Args, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
