// Command tofu-oci brings OpenTofu providers into OCI registries and out again.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// version is set by the linker.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
