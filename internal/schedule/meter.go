package schedule

import (
	"slices"
	"time"
)

const (
	// window is the period over which a rate is measured.
	window = 10 * time.Second
	// maxSamples is the maximum number of samples in a window.
	maxSamples = 20
)

// Meter measures the rate of a transfer over a sliding window.
type Meter struct {
	samples []sample
}

type sample struct {
	at    time.Time
	moved int64
}

// Rate records the number of bytes transferred so far. It returns the rate in bytes per
// second, or 0 if the rate is unknown.
func (m *Meter) Rate(now time.Time, moved int64) int64 {
	if n := len(m.samples); n == 0 || now.Sub(m.samples[n-1].at) >= window/maxSamples {
		m.samples = append(m.samples, sample{now, moved})
	}
	for len(m.samples) > 1 && now.Sub(m.samples[1].at) >= window {
		m.samples = slices.Delete(m.samples, 0, 1)
	}
	first := m.samples[0]
	if now.Sub(first.at) < window/maxSamples {
		return 0
	}
	return int64(float64(moved-first.moved) / now.Sub(first.at).Seconds())
}
