package access

import (
	"container/list"
	"math"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// maxClients bounds those that a limiter knows, some 300 bytes each. The one that
	// was away longest is forgotten.
	maxClients = 16384
	// ipv6Client is the network that one client has in IPv6, in bits: the addresses in
	// it are his to choose.
	ipv6Client = 64
)

// Limiter limits the requests of each client. Those with a token are counted by name,
// wherever they come from, and others by address, an IPv6 one by its /64. It is safe
// for concurrent use; nil limits nobody.
type Limiter struct {
	rate  rate.Limit
	burst int

	mu      sync.Mutex
	clients map[string]client
	// used has the clients' keys, the last one in front.
	used *list.List
}

type client struct {
	allowed *rate.Limiter
	used    *list.Element
}

// NewLimiter lets each client make so many requests a second, and at first or after a
// rest so many at once. A rate that is not positive limits nobody.
func NewLimiter(perSecond float64, burst int) *Limiter {
	if !(perSecond > 0) {
		return nil
	}
	return &Limiter{rate: rate.Limit(perSecond), burst: max(burst, 1), clients: map[string]client{}, used: list.New()}
}

// Allow tells whether a request may be answered. When not, retryAfter is when it may
// be made again, in whole seconds, for the header of that name.
func (l *Limiter) Allow(c Caller, from netip.Addr) (retryAfter time.Duration, allowed bool) {
	if l == nil {
		return 0, true
	}
	reservation := l.client(clientKey(c, from)).Reserve()
	wait := reservation.Delay()
	if wait == 0 {
		return 0, true
	}
	reservation.Cancel() // what is refused does not count
	return time.Duration(math.Ceil(wait.Seconds())) * time.Second, false
}

func (l *Limiter) client(key string) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c, known := l.clients[key]; known {
		l.used.MoveToFront(c.used)
		return c.allowed
	}
	if l.used.Len() >= maxClients {
		oldest, _ := l.used.Remove(l.used.Back()).(string)
		delete(l.clients, oldest)
	}
	c := client{rate.NewLimiter(l.rate, l.burst), l.used.PushFront(key)}
	l.clients[key] = c
	return c.allowed
}

func clientKey(c Caller, from netip.Addr) string {
	if c.Name != "" {
		return "name " + c.Name
	}
	return "net " + Network(from).String()
}

// Network returns the network that is treated as one client: an IPv4 address, or the /64
// of an IPv6 address. It is the zero value for an invalid address.
func Network(from netip.Addr) netip.Prefix {
	from = from.Unmap().WithZone("")
	bits := from.BitLen()
	if from.Is6() {
		bits = ipv6Client
	}
	network, _ := from.Prefix(bits) // an invalid address has none
	return network
}
