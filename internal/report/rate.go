package report

import (
	"slices"
	"time"
)

const (
	// window is the period over which a rate is measured.
	window = 10 * time.Second
	// maxSamples is the maximum number of samples in a window.
	maxSamples = 20
	// maxRemaining is the maximum remaining time that is shown.
	maxRemaining = 1000 * time.Hour
)

// rateMeter measures the rate of a transfer over a sliding window.
type rateMeter struct {
	samples []sample
}

type sample struct {
	at    time.Time
	moved int64
}

// rate records the number of bytes transferred so far. It returns the rate in bytes per
// second, or 0 if the rate is unknown.
func (p *rateMeter) rate(now time.Time, moved int64) int64 {
	if n := len(p.samples); n == 0 || now.Sub(p.samples[n-1].at) >= window/maxSamples {
		p.samples = append(p.samples, sample{now, moved})
	}
	for len(p.samples) > 1 && now.Sub(p.samples[1].at) >= window {
		p.samples = slices.Delete(p.samples, 0, 1)
	}
	first := p.samples[0]
	if now.Sub(first.at) < window/maxSamples {
		return 0
	}
	return int64(float64(moved-first.moved) / now.Sub(first.at).Seconds())
}

// remaining returns the time required to transfer the given number of bytes at a rate.
func remaining(bytes, rate int64) string {
	s := min(float64(bytes)/float64(rate), maxRemaining.Seconds())
	return formatDuration(time.Duration(s * float64(time.Second)))
}
