//go:build unix

package extprog_test

import (
	"slices"
	"syscall"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/extprog"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
)

// childAttributes starts a child outside the process group if args require it.
func childAttributes(args []string) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: slices.Contains(args, "leave")}
}

// TestRunIgnoresDetachedProcess covers a child process outside the process group.
// Signals to the group do not reach this child, which keeps stdout open until the test
// closes the connection.
func TestRunIgnoresDetachedProcess(t *testing.T) {
	t.Parallel()
	children := listen(t)
	out, err := parse(t, self(t)+" leave").Run(t.Context(), extprog.Call{Env: children.env("parent"), Timeout: patience.Limit})
	if err != nil || string(out) != "{}" {
		t.Errorf("%q, %v, want the parent's answer", out, err)
	}
	children.accept(t)
}

func TestRunReportsSignals(t *testing.T) {
	t.Parallel()
	_, err := parse(t, "/bin/sh -c 'kill -TERM $$'").Run(t.Context(), extprog.Call{MayBeSilent: true, Timeout: patience.Limit})
	if !extprog.IsFailure(err, extprog.Exited) || err.Error() != "running sh: signal: terminated" {
		t.Errorf("error %v", err)
	}
}
