package access_test

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/serve/access"
)

// allowed returns how many of a client's n concurrent requests are allowed.
func allowed(l *access.Limiter, c access.Caller, from string, n int) (count int) {
	for range n {
		if _, ok := l.Allow(c, netip.MustParseAddr(from)); ok {
			count++
		}
	}
	return count
}

func TestLimiter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := access.NewLimiter(2, 5)
		var anonymous access.Caller
		if got := allowed(l, anonymous, "192.0.2.1", 20); got != 5 {
			t.Errorf("%d at once", got)
		}
		if wait, ok := l.Allow(anonymous, netip.MustParseAddr("192.0.2.1")); ok || wait != time.Second {
			t.Errorf("got %s, %t", wait, ok)
		}
		time.Sleep(time.Second)
		if got := allowed(l, anonymous, "192.0.2.1", 20); got != 2 {
			t.Errorf("%d after a second", got)
		}
		time.Sleep(time.Hour)
		if got := allowed(l, anonymous, "192.0.2.1", 20); got != 5 {
			t.Errorf("%d after an hour", got)
		}
		// Each client has a separate limit.
		for _, other := range []string{"192.0.2.2", "2001:db8::1", "2001:db8:0:1::1"} {
			if got := allowed(l, anonymous, other, 20); got != 5 {
				t.Errorf("%s: %d", other, got)
			}
		}
		// A client can have several addresses, and an address can have two forms.
		for _, same := range []string{"2001:db8::2", "2001:db8:0:0:ffff::", "2001:db8::1%eth0", "::ffff:192.0.2.2"} {
			if got := allowed(l, anonymous, same, 20); got != 0 {
				t.Errorf("%s: %d", same, got)
			}
		}
		// A client with a token shares its limit across all addresses.
		if got := allowed(l, access.Caller{Name: "ci"}, "192.0.2.1", 3) + allowed(l, access.Caller{Name: "ci"}, "192.0.2.7", 20); got != 5 {
			t.Errorf("%d by a name", got)
		}
		if _, ok := l.Allow(anonymous, netip.Addr{}); !ok {
			t.Error("a client without an address is rejected")
		}
	})
}

func TestLimiterWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := access.NewLimiter(1.0/90, 0)
		from := netip.MustParseAddr("192.0.2.1")
		if _, ok := l.Allow(access.Caller{}, from); !ok {
			t.Error("the first request is rejected")
		}
		time.Sleep(100 * time.Millisecond)
		wait, ok := l.Allow(access.Caller{}, from)
		if ok || wait != 90*time.Second {
			t.Errorf("got %s, %t", wait, ok)
		}
		time.Sleep(wait)
		if _, ok := l.Allow(access.Caller{}, from); !ok {
			t.Error("rejected although allowed")
		}
	})
}

// TestLimiterMemory checks that the least recently used client is removed first, so that
// the memory is limited.
func TestLimiterMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := access.NewLimiter(1, 1)
		first, second := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
		l.Allow(access.Caller{}, first)
		l.Allow(access.Caller{}, second)
		address := netip.MustParseAddr("10.0.0.0")
		for range 20000 {
			l.Allow(access.Caller{}, address)
			if _, ok := l.Allow(access.Caller{}, second); ok {
				t.Fatal("an active client was removed")
			}
			address = address.Next()
		}
		if _, ok := l.Allow(access.Caller{}, first); !ok {
			t.Error("an inactive client was not removed")
		}
	})
}

func TestNoLimit(t *testing.T) {
	t.Parallel()
	for _, l := range []*access.Limiter{nil, access.NewLimiter(0, 5), access.NewLimiter(-1, 5)} {
		if got := allowed(l, access.Caller{}, "192.0.2.1", 1000); got != 1000 {
			t.Errorf("%d of 1000", got)
		}
	}
}
