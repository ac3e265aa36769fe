package mirror

import (
	"context"
	"fmt"
	"time"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Cooldown says which versions are old enough to be taken when nobody named them: a
// release with something bad in it is often found out within days. The zero value
// holds nothing back. Versions that are named exactly are not asked about.
type Cooldown struct {
	// MinAge is how old a version has to be; one of exactly that age is.
	MinAge time.Duration
	// Now is the clock, [time.Now] when nil. It has no part in what is stored.
	Now func() time.Time
}

// TooYoungError says that a version is held back.
type TooYoungError struct {
	Address provider.Address
	Version provider.Version
	// Published is when the origin says that it was published; zero where it does not
	// say.
	Published time.Time
	// Eligible is from when on it is old enough; zero where Published is.
	Eligible time.Time
}

func (e *TooYoungError) Error() string {
	if e.Published.IsZero() {
		return fmt.Sprintf("%s %s is held back: its origin does not say when it was published", e.Address, e.Version)
	}
	return fmt.Sprintf("%s %s is held back until %s: it was published on %s", e.Address, e.Version,
		e.Eligible.Format(time.RFC3339), e.Published.Format(time.RFC3339))
}

// Kind is [provider.Refused].
func (e *TooYoungError) Kind() provider.ErrorKind { return provider.Refused }

// Check holds a version's date, as [provider.Release] has it, against the minimum
// age. A missing date is too young. The error is *[TooYoungError].
func (c Cooldown) Check(a provider.Address, v provider.Version, published time.Time) error {
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

// Ask asks a source for the date of a version, and checks it. Errors are those of
// Check and of the source.
func (c Cooldown) Ask(ctx context.Context, src provider.Source, a provider.Address, v provider.Version) error {
	if c.MinAge <= 0 {
		return nil
	}
	published, err := c.DateOf(ctx, src, a, v)
	if err != nil {
		return err
	}
	return c.Check(a, v, published)
}

// DateOf returns the publication date of a version, or the zero value if the source has
// none. It requests the date only, if the source can do that.
func (Cooldown) DateOf(ctx context.Context, src provider.Source, a provider.Address, v provider.Version) (time.Time, error) {
	if date := provider.CapabilitiesOf(src).Date; date != nil {
		return date(ctx, a, v)
	}
	r, err := src.Release(ctx, a, v)
	return r.Published, err
}
