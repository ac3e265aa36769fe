package serve

import (
	"fmt"
	"net"

	"golang.org/x/net/netutil"
)

// listener accepts connections, and closes those of addresses with too many of them.
type listener struct {
	net.Listener
	server      *Server
	connections *quota
	life        Life
}

// limitConnections limits the connections of a listener.
func (s *Server) limitConnections(l net.Listener, life Life) net.Listener {
	return &listener{netutil.LimitListener(l, life.MaxConnections), s, newQuota(int64(life.MaxConnections), life), life}
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
		giveBack, ok := l.connections.take(l.server.network(from), 1)
		if ok {
			return &connection{c, giveBack}, nil
		}
		_ = c.Close()
		if l.life.Trouble != nil {
			l.life.Trouble(fmt.Sprintf("%s has %d open connections, and gets no more", from, l.life.MaxPerAddress))
		}
	}
}

// connection returns its share of the limit when it is closed.
type connection struct {
	net.Conn
	giveBack func()
}

// Close implements [net.Conn].
func (c *connection) Close() error {
	c.giveBack() // before the next connection is accepted in its place
	return c.Conn.Close()
}
