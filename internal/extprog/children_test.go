package extprog_test

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/extprog"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
)

// children is the listener to which child processes of helpers connect.
type children struct{ net.Listener }

func listen(t *testing.T) children {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return children{l}
}

func (c children) env(as string) []string {
	return append(actAs(as), addressVariable+"="+c.Addr().String())
}

// accept waits for a child. The child exits when the connection is closed.
func (c children) accept(t *testing.T) net.Conn {
	t.Helper()
	conn, err := c.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// checkEnded checks that a child has exited, which closes its connection.
func checkEnded(t *testing.T, child net.Conn) {
	t.Helper()
	if _, err := child.Read(make([]byte, 1)); err == nil {
		t.Error("the child is still there")
	}
}

func TestRunLeavesNoProcessBehind(t *testing.T) {
	t.Parallel()
	children := listen(t)
	out, err := parse(t, self(t)).Run(t.Context(), extprog.Call{Env: children.env("parent"), Timeout: patience.Limit})
	if err != nil || string(out) != "{}" {
		t.Fatalf("%q, %v", out, err)
	}
	checkEnded(t, children.accept(t))
}

func TestRunIsInterrupted(t *testing.T) {
	t.Parallel()
	children := listen(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	program := parse(t, self(t))
	go func() {
		_, err := program.Run(ctx, extprog.Call{Env: children.env("hanging"), Timeout: patience.Limit})
		done <- err
	}()
	child := children.accept(t)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	checkEnded(t, child)
}
