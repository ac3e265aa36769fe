// Command tofu-oci brings OpenTofu providers into OCI registries and out again.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// version is set by the linker; so is date, in releases: when their commit was made, as
// in RFC 3339.
var version, date = "dev", ""

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second Ctrl-C ends the process at once
	code := run(ctx, os.Args, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
