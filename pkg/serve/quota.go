package serve

import (
	"net/netip"
	"sync"
)

// quota limits an amount that is in use at the same time, in total and per client, so that
// no client uses all of it. It is safe for concurrent use.
type quota struct {
	total, each int64

	mu      sync.Mutex
	used    int64
	clients map[netip.Prefix]int64
}

// newQuota returns a quota in which each client has the same share as of the connections.
func newQuota(total int64, life Life) *quota {
	return &quota{
		total: total, each: total * int64(life.MaxPerAddress) / int64(life.MaxConnections),
		clients: map[netip.Prefix]int64{},
	}
}

// take reserves an amount for a client until giveBack is called. ok is false if there is not
// enough. The zero client is limited only by the total.
func (q *quota) take(client netip.Prefix, amount int64) (giveBack func(), ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.used+amount > q.total || client.IsValid() && q.clients[client]+amount > q.each {
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

// inUse returns the amount that all clients use.
func (q *quota) inUse() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.used
}
