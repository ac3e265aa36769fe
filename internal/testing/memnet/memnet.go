// Package memnet provides an in-memory network. Its connections can break and hang like
// TCP connections. They can be used in a testing/synctest bubble, where waiting takes
// no time.
package memnet

import (
	"context"
	"net"
	"sync"
	"syscall"
)

// Network connects clients to servers. It is safe for concurrent use.
type Network struct {
	mu        sync.Mutex
	listeners map[string]*listener
	faults    []fault
}

// fault is an error for the next dials.
type fault struct {
	address string
	err     error
	times   int
}

// New returns a network without servers.
func New() *Network { return &Network{listeners: map[string]*listener{}} }

// Listen returns a listener for an address such as "host:port".
func (n *Network) Listen(address string) net.Listener {
	l := &listener{address: addr(address), arriving: make(chan net.Conn), closed: make(chan struct{})}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.listeners[address] = l
	return l
}

// FailDials makes the next connections to an address fail with err. To simulate an
// unknown name, use a *[net.DNSError].
func (n *Network) FailDials(address string, err error, times int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.faults = append(n.faults, fault{address, err, times})
}

// Behave removes all faults.
func (n *Network) Behave() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.faults = nil
}

// Dial connects to a server in the same way as [net.Dialer].
func (n *Network) Dial(ctx context.Context, _, address string) (net.Conn, error) {
	l, err := n.find(address)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: addr(address), Err: err}
	}
	near, far := pipe("localhost:1", address)
	select {
	case l.arriving <- far:
		return near, nil
	case <-l.closed:
		err = syscall.ECONNREFUSED
	case <-ctx.Done():
		err = ctx.Err()
	}
	_ = near.Close()
	return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: addr(address), Err: err}
}

func (n *Network) find(address string) (*listener, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range n.faults {
		if f := &n.faults[i]; f.address == address && f.times > 0 {
			f.times--
			return nil, f.err
		}
	}
	l, there := n.listeners[address]
	if !there {
		return nil, syscall.ECONNREFUSED
	}
	return l, nil
}

// listener is a server's listener.
type listener struct {
	address  addr
	arriving chan net.Conn
	once     sync.Once
	closed   chan struct{}
}

// Accept implements [net.Listener].
func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.arriving:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener].
func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements [net.Listener].
func (l *listener) Addr() net.Addr { return l.address }

// addr is an address of the form "host:port".
type addr string

func (addr) Network() string { return "tcp" }

func (a addr) String() string { return string(a) }
