package mirror

import (
	"context"
	"fmt"
	"time"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Cooldown holds back versions that are too young, because malicious releases are often
// detected within days. The zero value holds no versions back. Don't apply it to
// versions that the user specified exactly.
type Cooldown struct {
	// MinAge is the minimum age of a version.
	MinAge time.Duration
	// Now returns the current time. If nil, [time.Now] is used.
	Now func() time.Time
}

// TooYoungError reports that a version is held back.
type TooYoungError struct {
	Address provider.Address
	Version provider.Version
	// Published is the origin's publication date, or the zero time if the origin
	// provides no date.
	Published time.Time
	// Eligible is the time from which the version is old enough. If Published is the
	// zero time, Eligible is also the zero time.
	Eligible time.Time
}

func (e *TooYoungError) Error() string {
	if e.Published.IsZero() {
		return fmt.Sprintf("%s %s is held back, because its origin has no publication date", e.Address, e.Version)
	}
	return fmt.Sprintf("%s %s is held back until %s, because it was published on %s", e.Address, e.Version,
		e.Eligible.Format(time.RFC3339), e.Published.Format(time.RFC3339))
}

// Kind returns [provider.Refused].
func (e *TooYoungError) Kind() provider.ErrorKind { return provider.Refused }

// Check returns a *[TooYoungError] if a version is too young or has no publication
// date. published is the date from the Published field of [provider.Release].
func (c Cooldown) Check(a provider.Address, v provider.Version, published time.Time) error {
	if held := c.check(a, v, published); held != nil {
		return held
	}
	return nil
}

func (c Cooldown) check(a provider.Address, v provider.Version, published time.Time) *TooYoungError {
	if c.MinAge <= 0 {
		return nil
	}
	if published.IsZero() {
		return &TooYoungError{Address: a, Version: v}
	}
	now := time.Now
	if c.Now != nil {
		now = c.Now
	}
	if eligible := published.Add(c.MinAge); now().Before(eligible) {
		return &TooYoungError{Address: a, Version: v, Published: published, Eligible: eligible}
	}
	return nil
}

// DateOf returns the publication date of a version, or the zero time if the source has
// no date. If the source can return dates separately, DateOf requests only the date.
func (Cooldown) DateOf(ctx context.Context, src provider.Source, a provider.Address, v provider.Version) (time.Time, error) {
	if date := provider.CapabilitiesOf(src).Date; date != nil {
		return date(ctx, a, v)
	}
	r, err := src.Release(ctx, a, v)
	return r.Published, err
}
