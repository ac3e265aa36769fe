package access

import (
	"math"
	"net/netip"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"
)

const (
	// maxClients limits the number of tracked clients, which require about 300 bytes
	// each. The least recently used client is removed first.
	maxClients = 16384
	// ipv6Client is the prefix length, in bits, of an IPv6 network that is treated as
	// one client. A client can choose any address in its network.
	ipv6Client = 64
)

// Limiter limits the request rate of each client. Clients with a token are identified
// by name, and every other client by IPv4 address or IPv6 /64 network. A Limiter is
// safe for concurrent use. A nil Limiter allows every request.
type Limiter struct {
	rate    rate.Limit
	burst   int
	clients *lru.Cache[string, *rate.Limiter]
}

// NewLimiter returns a limiter that allows each client perSecond requests per second
// and bursts of burst requests. If perSecond is not positive, NewLimiter returns nil.
func NewLimiter(perSecond float64, burst int) *Limiter {
	if !(perSecond > 0) {
		return nil
	}
	clients, _ := lru.New[string, *rate.Limiter](maxClients) // fails only for a size below 1
	return &Limiter{rate: rate.Limit(perSecond), burst: max(burst, 1), clients: clients}
}

// Allow reports whether a request is allowed. If the request is not allowed, retryAfter
// is the time to wait in whole seconds, for the Retry-After header.
func (l *Limiter) Allow(c Caller, from netip.Addr) (retryAfter time.Duration, allowed bool) {
	if l == nil {
		return 0, true
	}
	key := "net " + Network(from).String()
	if c.Name != "" {
		key = "name " + c.Name
	}
	l.clients.ContainsOrAdd(key, rate.NewLimiter(l.rate, l.burst))
	client, known := l.clients.Get(key)
	if !known { // other clients have evicted this client's limiter
		return 0, true
	}
	reservation := client.Reserve()
	wait := reservation.Delay()
	if wait == 0 {
		return 0, true
	}
	reservation.Cancel() // rejected requests don't count toward the limit
	return time.Duration(math.Ceil(wait.Seconds())) * time.Second, false
}

// Network returns the network that is treated as one client. This is an IPv4 address or
// the /64 network of an IPv6 address. For an invalid address, Network returns the zero
// value.
func Network(from netip.Addr) netip.Prefix {
	from = from.Unmap().WithZone("")
	bits := from.BitLen()
	if from.Is6() {
		bits = ipv6Client
	}
	network, _ := from.Prefix(bits) // fails only for an invalid address
	return network
}
