package access

import (
	"math"
	"net/netip"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
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

// Limiter limits the requests of each client. Clients with a token are identified by
// name, wherever they connect from, and others by address, or by the /64 of an IPv6
// address. It is safe for concurrent use; nil limits nobody.
type Limiter struct {
	rate    rate.Limit
	burst   int
	clients *lru.Cache[string, *rate.Limiter]
}

// NewLimiter allows each client a number of requests per second, and a number at once at
// first or after a pause. If the rate is not positive, it returns nil.
func NewLimiter(perSecond float64, burst int) *Limiter {
	if !(perSecond > 0) {
		return nil
	}
	clients, _ := lru.New[string, *rate.Limiter](maxClients) // the error is for a size below 1
	return &Limiter{rate: rate.Limit(perSecond), burst: max(burst, 1), clients: clients}
}

// Allow reports whether a request is allowed. If not, retryAfter is the time until the
// next one, in whole seconds, for the header of that name.
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
	if !known { // maxClients others came in between
		return 0, true
	}
	reservation := client.Reserve()
	wait := reservation.Delay()
	if wait == 0 {
		return 0, true
	}
	reservation.Cancel() // refused requests don't count
	return time.Duration(math.Ceil(wait.Seconds())) * time.Second, false
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
