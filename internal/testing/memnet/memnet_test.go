package memnet_test

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/testing/memnet"
)

const address = "localhost:443"

// connect returns both ends of a connection.
func connect(t *testing.T, n *memnet.Network) (client, server net.Conn) {
	t.Helper()
	l := n.Listen(address)
	accepted := make(chan net.Conn)
	go func() {
		c, err := l.Accept()
		if err != nil {
			t.Error(err)
		}
		accepted <- c
	}()
	client, err := n.Dial(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return client, <-accepted
}

func TestBreaks(t *testing.T) {
	t.Parallel()
	buffer := make([]byte, 1<<20)
	for name, test := range map[string]struct {
		interrupt func(server net.Conn)
		op        string
		do        func(client net.Conn) (int, error)
		wantErr   error
	}{
		"reset, reading":  {reset, "read", func(c net.Conn) (int, error) { return c.Read(buffer) }, syscall.ECONNRESET},
		"reset, writing":  {reset, "write", func(c net.Conn) (int, error) { return c.Write(buffer) }, syscall.ECONNRESET},
		"closed, reading": {func(s net.Conn) { _ = s.Close() }, "", func(c net.Conn) (int, error) { return c.Read(buffer) }, io.EOF},
		"closed, writing": {func(s net.Conn) { _ = s.Close() }, "write", func(c net.Conn) (int, error) { return c.Write(buffer) }, syscall.EPIPE},
		"hangs, reading":  {func(net.Conn) {}, "read", func(c net.Conn) (int, error) { return c.Read(buffer) }, os.ErrDeadlineExceeded},
		"hangs, writing":  {func(net.Conn) {}, "write", func(c net.Conn) (int, error) { return c.Write(buffer) }, os.ErrDeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client, server := connect(t, memnet.New())
				_ = client.SetDeadline(time.Now().Add(time.Minute))
				go func() {
					time.Sleep(time.Second)
					test.interrupt(server)
				}()
				_, err := test.do(client)
				var op *net.OpError
				if !errors.Is(err, test.wantErr) || errors.As(err, &op) != (test.op != "") || op != nil && op.Op != test.op {
					t.Errorf("got %v", err)
				}
				_ = client.Close()
				if _, err := test.do(client); !errors.Is(err, net.ErrClosed) {
					t.Errorf("after Close: %v", err)
				}
				synctest.Wait()
			})
		})
	}
}

func reset(server net.Conn) {
	_ = server.(interface{ SetLinger(seconds int) error }).SetLinger(0)
	_ = server.Close()
}

// TestSmallWritesPass checks that small writes, such as the close message of TLS,
// succeed without a reader.
func TestSmallWritesPass(t *testing.T) {
	t.Parallel()
	client, server := connect(t, memnet.New())
	sent := 0
	for range 1000 {
		n, err := client.Write(make([]byte, 100))
		if sent += n; err != nil {
			t.Fatal(err)
		}
	}
	_ = client.Close()
	if n, err := io.Copy(io.Discard, server); int(n) != sent || err != nil {
		t.Errorf("%d bytes of %d arrived, %v", n, sent, err)
	}
}

func TestDial(t *testing.T) {
	t.Parallel()
	n := memnet.New()
	unknown := &net.DNSError{Err: "no such host", Name: "localhost", IsNotFound: true}
	n.FailDials(address, unknown, 1)
	if _, err := n.Dial(t.Context(), "tcp", address); !errors.Is(err, unknown) {
		t.Errorf("got %v", err)
	}
	if _, err := n.Dial(t.Context(), "tcp", address); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("nobody listens: %v", err)
	}
	connect(t, n)
}
