package serve

import (
	"fmt"
	"net"
	"net/netip"
	"sync"
)

// quota limits how much of a resource is in use at the same time. It limits the total
// and the amount per client, so that no client uses the entire quota. It is safe for
// concurrent use.
type quota struct {
	total, perClient int64

	mu      sync.Mutex
	used    int64
	clients map[netip.Prefix]int64
}

// newQuota returns a quota with a limit per client. The limit is the same share of the
// total as MaxPerAddress is of MaxConnections.
func newQuota(total int64, options ListenOptions) *quota {
	return &quota{
		total: total, perClient: total * int64(options.MaxPerAddress) / int64(options.MaxConnections),
		clients: map[netip.Prefix]int64{},
	}
}

// take reserves an amount for a client. Calling release frees the amount. ok is false
// if the quota is exceeded. For the zero client, only the total is limited.
func (q *quota) take(client netip.Prefix, amount int64) (release func(), ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.used+amount > q.total || client.IsValid() && q.clients[client]+amount > q.perClient {
		return nil, false
	}
	q.add(client, amount)
	return sync.OnceFunc(func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.add(client, -amount)
	}), true
}

func (q *quota) add(client netip.Prefix, amount int64) {
	q.used += amount
	if q.clients[client] += amount; q.clients[client] == 0 {
		delete(q.clients, client)
	}
}

// inUse returns the total amount in use.
func (q *quota) inUse() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.used
}

// listener accepts connections and closes connections that exceed the limit per
// address.
type listener struct {
	net.Listener
	server      *Server
	connections *quota
	options     ListenOptions
}

// Accept implements [net.Listener].
func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from := c.RemoteAddr().String()
		if host, _, err := net.SplitHostPort(from); err == nil {
			from = host
		}
		release, ok := l.connections.take(l.server.network(from), 1)
		if ok {
			return &connection{c, release}, nil
		}
		_ = c.Close()
		l.options.OnConnectionError(fmt.Sprintf("%s has reached the limit of %d open connections", from, l.options.MaxPerAddress))
	}
}

// connection releases its share of the quota when the connection is closed.
type connection struct {
	net.Conn
	release func()
}

// Close implements [net.Conn].
func (c *connection) Close() error {
	c.release() // must precede the next Accept
	return c.Conn.Close()
}
