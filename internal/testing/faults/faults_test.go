package faults_test

import (
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
)

// faultCase is a fault.
type faultCase struct {
	name string
	// origin and registry list the kinds of affected requests. If both are empty, the
	// fault affects connections.
	origin   []origintest.Kind
	registry []registrytest.Kind
	// fault returns the fault. n is the number of bytes after which the fault occurs.
	fault func(w *world, n int64) origintest.Fault
	// address is the address for which connections fail with the error dial.
	address string
	dial    error
	// login restricts the fault to registries that require credentials. strict
	// restricts it to registries that check whether a manifest's content exists,
	// because all other registries do not detect the fault.
	login, strict bool
	// once is the outcome of a run with a single fault. twice is the outcome of a run
	// in which the first two responses are faulty.
	once, twice outcome
}

// outcome is the expected result of a run with a fault.
type outcome int

const (
	// refused means that the run must fail. The zero value means that the run succeeds.
	refused outcome = iota + 1
	// depends means that the outcome depends on concurrent requests.
	depends
)

// arm arms the fault. It skips some correct requests, and then affects the given number
// of requests.
func (x faultCase) arm(w *world, n int64, skip, times int) {
	if x.dial != nil {
		w.network.FailDials(x.address, x.dial, times)
	}
	for _, kind := range x.origin {
		w.origin.Misbehave(kind, well, skip)
		w.origin.Misbehave(kind, x.fault(w, n), times)
	}
	for _, kind := range x.registry {
		w.registry.Misbehave(kind, well, skip)
		w.registry.Misbehave(kind, x.fault(w, n), times)
	}
}

func well(w http.ResponseWriter, r *http.Request, honest http.HandlerFunc) { honest(w, r) }

// meets reports whether the fault affects a flow.
func (x faultCase) meets(f flow) bool {
	isWritten := slices.ContainsFunc(x.registry, func(k registrytest.Kind) bool { return slices.Contains(writing, k) })
	isRead := slices.Contains(x.registry, registrytest.BlobGet)
	switch {
	case len(x.origin) > 0 || x.address == atOrigin:
		return f.origin
	case isRead != isWritten:
		return f.registry && f.filled == isRead
	}
	return f.registry
}

var (
	documents = []origintest.Kind{origintest.Discovery, origintest.Versions, origintest.Package, origintest.Sums, origintest.Signature}
	zips      = []origintest.Kind{origintest.Zip}
	gets      = []registrytest.Kind{registrytest.ManifestGet, registrytest.BlobHead, registrytest.BlobGet, registrytest.Token}
	blobs     = []registrytest.Kind{registrytest.BlobGet}
	uploads   = []registrytest.Kind{registrytest.UploadPost, registrytest.UploadPut}
	finishing = []registrytest.Kind{registrytest.UploadPut}
	puts      = []registrytest.Kind{registrytest.ManifestPut}
	writing   = slices.Concat(uploads, puts)
)

// always returns a fault that depends neither on the world nor on a number of bytes.
func always(f origintest.Fault) func(*world, int64) origintest.Fault {
	return func(*world, int64) origintest.Fault { return f }
}

// after returns a fault that depends on a number of bytes.
func after(f func(n int64) origintest.Fault) func(*world, int64) origintest.Fault {
	return func(_ *world, n int64) origintest.Fault { return f(n) }
}

// taking returns a fault that occurs after the registry has received n bytes of an
// upload.
func taking(f origintest.Fault) func(*world, int64) origintest.Fault {
	return after(func(n int64) origintest.Fault { return registrytest.Take(n, f) })
}

// later responds with a Retry-After header, in seconds or as a date.
func later(status int, seconds string) func(*world, int64) origintest.Fault {
	return always(registrytest.Take(-1, origintest.Status(status, "Retry-After", seconds)))
}

func laterByDate(status int, after time.Duration) func(*world, int64) origintest.Fault {
	return always(registrytest.Take(-1, func(w http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		origintest.Status(status, "Retry-After", time.Now().Add(after).UTC().Format(http.TimeFormat))(w, r, honest)
	}))
}

// goingOn interrupts a zip. It responds with f to requests for the rest of the zip.
func goingOn(f origintest.Fault) func(*world, int64) origintest.Fault {
	return after(func(n int64) origintest.Fault {
		return func(w http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
			if r.Header.Get("Range") != "" {
				f(w, r, honest)
				return
			}
			origintest.Reset(n)(w, r, honest)
		}
	})
}

// errResolver is a temporary error from a DNS resolver.
var errResolver = &net.DNSError{Err: "server misbehaving", Name: "localhost", IsTemporary: true}

var faultCases = []faultCase{
	{name: "DNS fails for the origin", address: atOrigin, dial: errResolver},
	{name: "DNS fails for the registry", address: atRegistry, dial: errResolver},

	{name: "origin resets a zip", origin: zips, fault: after(origintest.Reset)},
	{name: "origin ends a zip early", origin: zips, fault: after(origintest.Short)},
	{name: "origin hangs in a zip", origin: zips, fault: after(origintest.Stall)},
	{name: "origin hangs before a zip", origin: zips, fault: always(origintest.Hang())},
	{name: "origin sends a byte more", origin: zips, fault: always(origintest.Longer()), once: refused},
	// A flipped bit can make a zip unreadable as a stream. In this case, the client
	// correctly reads the zip again.
	{name: "origin sends a wrong bit", origin: zips, fault: after(func(n int64) origintest.Fault { return origintest.FlipBit(90 + n%90) }), once: depends},
	{name: "origin is busy for a zip", origin: zips, fault: later(503, "")},
	{name: "origin throttles zips, in seconds", origin: zips, fault: later(429, "59")},
	{name: "origin throttles zips, by date", origin: zips, fault: laterByDate(429, 50*time.Second)},
	{name: "origin throttles for an hour", origin: zips, fault: later(429, "3600"), once: refused},
	{name: "origin goes on with other bytes", origin: zips, fault: goingOn(origintest.FlipBit(9)), twice: refused},
	{name: "origin goes on with another part", origin: zips, fault: goingOn(origintest.Shift())},
	{name: "origin goes on with another length", origin: zips, fault: goingOn(origintest.Rewrite("Content-Range", "bytes 7-8/9"))},
	{name: "origin goes on with another ETag", origin: zips, fault: goingOn(origintest.Rewrite("ETag", `"other"`))},
	{name: "origin goes on with all of it", origin: zips, fault: goingOn(origintest.IgnoreRange())},
	{name: "origin resets documents", origin: documents, fault: after(origintest.Reset)},
	{name: "origin ends documents early", origin: documents, fault: always(origintest.Short(3))},
	{name: "origin hangs before documents", origin: documents, fault: always(origintest.Hang())},
	{name: "origin is busy for documents", origin: documents, fault: later(503, "5")},
	{name: "origin throttles documents", origin: documents, fault: laterByDate(429, 30*time.Second)},

	{name: "registry resets what it sends", registry: gets, fault: after(origintest.Reset)},
	{name: "registry ends blobs early", registry: blobs, fault: after(origintest.Short)},
	{name: "registry hangs in a blob", registry: blobs, fault: after(origintest.Stall)},
	{name: "registry hangs before answers", registry: gets, fault: always(origintest.Hang())},
	{name: "registry sends a wrong bit", registry: blobs, fault: after(func(n int64) origintest.Fault { return origintest.FlipBit(1 + n%90) }), once: depends},
	{name: "registry is busy", registry: gets, fault: later(503, "")},
	{name: "registry throttles, in seconds", registry: gets, fault: later(429, "20")},
	{name: "registry throttles, by date", registry: gets, fault: laterByDate(429, 20*time.Second)},

	{name: "registry resets an upload", registry: writing, fault: taking(origintest.Reset(0))},
	{name: "registry hangs in an upload", registry: writing, fault: taking(origintest.Hang())},
	{name: "registry is busy for uploads", registry: writing, fault: later(503, "")},
	{name: "registry refuses an upload in mid-way", registry: writing, fault: taking(origintest.Status(503))},
	{name: "registry throttles uploads, in seconds", registry: writing, fault: later(429, "59")},
	{name: "registry throttles uploads, by date", registry: writing, fault: laterByDate(429, 40*time.Second)},
	{name: "registry stores and does not answer", registry: writing, fault: always(registrytest.Unanswered())},
	{name: "registry does neither store nor answer", registry: writing, fault: always(registrytest.Take(-1, origintest.Reset(0)))},
	{name: "registry loses a blob", registry: finishing, fault: func(w *world, _ int64) origintest.Fault { return w.registry.Lose() }, strict: true},
	{name: "registry forgets manifests", registry: puts, fault: always(registrytest.Forget())},
	{name: "registry stores under another digest", registry: finishing, fault: func(w *world, _ int64) origintest.Fault { return w.registry.Misname() }, once: depends},
	{name: "registry sends an upload elsewhere", registry: uploads[:1], fault: always(registrytest.Elsewhere(atElsewhere)), once: refused},
	{name: "tokens expire in an upload", login: true, registry: finishing, fault: func(w *world, _ int64) origintest.Fault { return w.registry.ExpireTokens() }},
	{name: "tokens expire before a manifest", login: true, registry: puts, fault: func(w *world, _ int64) origintest.Fault { return w.registry.ExpireTokens() }},
	{name: "tokens expire for a reader", login: true, registry: blobs, fault: func(w *world, _ int64) origintest.Fault { return w.registry.ExpireTokens() }},
}
