//go:build unix

package main_test

import (
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"

	main "github.com/tofu-oci/tofu-oci/cmd/tofu-oci"
)

// onFullDisk runs the program with a limit of FULL bytes per file. A larger write fails
// midway, as on a full disk.
func onFullDisk() {
	limit, err := strconv.ParseUint(os.Getenv("FULL"), 10, 64)
	if err != nil {
		panic(err)
	}
	signal.Ignore(syscall.SIGXFSZ) // makes the write fail instead
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
		panic(err)
	}
	for _, name := range []string{"TOFU_OCI_EVENTS", "GITHUB_STEP_SUMMARY"} { // these files would also be too large
		if err := os.Unsetenv(name); err != nil {
			panic(err)
		}
	}
	main.Main()
}

// full BYTES tofu-oci ARG... runs the program with a limit of BYTES per file. It must exit with
// code 1.
func cmdFull(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 || args[1] != "tofu-oci" {
		ts.Fatalf("usage: full BYTES tofu-oci ARG...")
	}
	ts.Setenv("FULL", args[0])
	runAs(ts, programOnFullDisk, 1, args[2:])
}
