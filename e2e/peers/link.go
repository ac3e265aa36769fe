//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// linkRate is the throughput of each connection toward the client, in bytes per
	// second.
	linkRate = 20_000_000
	// linkDelay is the latency toward the client.
	linkDelay = 30 * time.Millisecond
)

// link is a proxy for the server at the address "HOST:PORT".
type link struct {
	to string
	// near disables the delay and the rate limit.
	near bool
	// carried is the number of bytes that closed connections transferred in both
	// directions.
	carried atomic.Int64
}

// start listens on a loopback address and forwards connections until done is called.
func (l *link) start(ctx context.Context) (host string, done func(), err error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "localhost:0")
	if err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var open sync.WaitGroup
	open.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			open.Go(func() { l.serve(ctx, client) })
		}
	})
	done = func() {
		cancel()
		_ = listener.Close()
		open.Wait()
	}
	return fmt.Sprintf("localhost:%d", listener.Addr().(*net.TCPAddr).Port), done, nil
}

func (l *link) serve(ctx context.Context, client net.Conn) {
	server, err := new(net.Dialer).DialContext(ctx, "tcp", l.to)
	if err != nil {
		_ = client.Close()
		return
	}
	end := func() {
		_ = client.Close()
		_ = server.Close()
	}
	stop := context.AfterFunc(ctx, end)
	defer stop()
	var both sync.WaitGroup
	both.Go(func() {
		defer end()
		n, _ := io.Copy(server, client)
		l.carried.Add(n)
	})
	both.Go(func() {
		defer end()
		if !l.near {
			l.carried.Add(slowly(client, server))
			return
		}
		n, _ := io.Copy(client, server)
		l.carried.Add(n)
	})
	both.Wait()
}

// piece is a chunk of data with the time at which it arrives at the other end.
type piece struct {
	bytes []byte
	due   time.Time
}

// slowly copies data with the latency and the rate of the link.
func slowly(to io.Writer, from io.Reader) (copied int64) {
	// The buffer is larger than the amount of data in transit during the delay.
	const size = 16 << 10
	under := make(chan piece, 4*linkRate/size*int(linkDelay/time.Millisecond)/1000)
	go func() {
		defer close(under)
		for {
			b := make([]byte, size)
			n, err := from.Read(b)
			if n > 0 {
				under <- piece{b[:n], time.Now().Add(linkDelay)}
			}
			if err != nil {
				return
			}
		}
	}()
	var free time.Time // time at which all data has been sent
	var failed error
	for p := range under {
		if failed != nil {
			continue // the reader must not block
		}
		// The link compensates for late wake-ups, but not for idle time.
		if least := time.Now().Add(-linkDelay); free.Before(least) {
			free = least
		}
		if free.Before(p.due) {
			time.Sleep(time.Until(p.due))
		}
		free = free.Add(time.Duration(len(p.bytes)) * time.Second / linkRate)
		time.Sleep(time.Until(free))
		_, failed = to.Write(p.bytes)
		copied += int64(len(p.bytes))
	}
	return copied
}
