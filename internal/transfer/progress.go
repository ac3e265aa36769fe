// Package transfer holds what moving a zip needs in either direction: reports
// to a [provider.Progress], and another try when the connection breaks.
package transfer

import (
	"io"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Report calls do with a function that counts what is read through it, and
// reports begin, bytes and end of the package's transfer.
func Report(to provider.Progress, p provider.Package, total int64, do func(count func(io.Reader) io.Reader) error) error {
	if to.Begin != nil {
		to.Begin(p, total)
	}
	err := do(func(r io.Reader) io.Reader {
		if to.Advance == nil {
			return r
		}
		return &counter{r, func(n int) { to.Advance(p, n) }}
	})
	if to.End != nil {
		to.End(p, err)
	}
	return err
}

type counter struct {
	r       io.Reader
	advance func(n int)
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.advance(n)
	return n, err
}
