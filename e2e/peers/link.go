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
	// linkRate is what each connection gets towards the client, in bytes a second.
	linkRate = 20_000_000
	// linkDelay is how long everything takes towards the client.
	linkDelay = 30 * time.Millisecond
)

// link is a way to a server, "HOST:PORT".
type link struct {
	to string
	// near: it is neither long nor slow.
	near bool
	// carried are the bytes that it has carried in both directions on connections
	// that have ended.
	carried atomic.Int64
}

// start listens on loopback, and passes on what comes, until done is called.
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

// piece is what arrived at once, and when it is due at the other end.
type piece struct {
	bytes []byte
	due   time.Time
}

// slowly copies with the delay and at the rate of a long link.
func slowly(to io.Writer, from io.Reader) (copied int64) {
	// As much as is under way in the time of the delay, and some more.
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
	var free time.Time // when all that was sent has arrived
	var failed error
	for p := range under {
		if failed != nil {
			continue // the reader must not hang
		}
		// Who woke up late makes up for it, but not for having had nothing to send.
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
