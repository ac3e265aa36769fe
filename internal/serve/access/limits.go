package access

import (
	"errors"
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/internal/text"
)

// Limits contains a server's limits and timeouts. A zero value selects the default.
type Limits struct {
	// RequestsPerSecond limits the request rate of each client.
	RequestsPerSecond float64
	// Connections limits the number of connections, and ConnectionsPerAddress limits
	// the connections of each client.
	Connections, ConnectionsPerAddress int
	// MetadataCache limits the memory for cached metadata, in bytes.
	MetadataCache int64
	// TagsTTL is the maximum age of cached tag lists, and StaleIfError is the maximum
	// age of data that is served while a registry is unavailable.
	TagsTTL, StaleIfError time.Duration
	// ShutdownTimeout is how long downloads can continue when the server exits.
	ShutdownTimeout time.Duration
}

type limitsBlock struct {
	Range                 hcl.Range      `hcl:",type_range"`
	RequestsPerSecond     *float64       `hcl:"requests_per_second"`
	Connections           *int           `hcl:"connections"`
	ConnectionsPerAddress *int           `hcl:"connections_per_address"`
	MetadataCache         hcl.Expression `hcl:"metadata_cache"`
	TagsTTL               hcl.Expression `hcl:"tags_ttl"`
	StaleIfError          hcl.Expression `hcl:"stale_if_error"`
	ShutdownTimeout       hcl.Expression `hcl:"shutdown_timeout"`
}

// read returns the limits. Each limit that is set must be positive.
func (b limitsBlock) read() (l Limits, err error) {
	errs := []error{
		positive("requests_per_second", b.RequestsPerSecond, &l.RequestsPerSecond, b.Range),
		positive("connections", b.Connections, &l.Connections, b.Range),
		positive("connections_per_address", b.ConnectionsPerAddress, &l.ConnectionsPerAddress, b.Range),
	}
	if isSet(b.MetadataCache) {
		size, err := value("metadata_cache", b.MetadataCache, text.ParseSize)
		errs = append(errs, err, positive("metadata_cache", &size, &l.MetadataCache, b.MetadataCache.Range()))
	}
	for _, d := range []struct {
		name string
		expr hcl.Expression
		to   *time.Duration
	}{{"tags_ttl", b.TagsTTL, &l.TagsTTL}, {"stale_if_error", b.StaleIfError, &l.StaleIfError}, {"shutdown_timeout", b.ShutdownTimeout, &l.ShutdownTimeout}} {
		errs = append(errs, optional(d.name, d.expr, d.to, parseDuration))
	}
	return l, stricthcl.Join(errs...)
}

// positive sets *to to the value of an argument. If v is nil, the argument is not set.
func positive[N int | int64 | float64](name string, v, to *N, pos hcl.Range) error {
	if v == nil {
		return nil
	}
	if *to = *v; *v <= 0 {
		return stricthcl.Errorf(pos, "invalid %s: want a positive number", name)
	}
	return nil
}

func parseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, errors.New("want a positive duration, such as 30s or 2m")
	}
	return d, nil
}
