package report

import (
	"slices"
	"time"
)

const (
	// window is how long a rate looks back.
	window = 10 * time.Second
	// marks is how many moments of a window are noted.
	marks = 20
	// maxLeft is what is said of a transfer that would take longer still.
	maxLeft = 1000 * time.Hour
)

// pace measures a rate over a window that moves: what a transfer does now, not what
// it did when it began.
type pace struct {
	noted []mark
}

type mark struct {
	at    time.Time
	moved int64
}

// rate returns bytes a second, when so many have moved by now; 0 as long as nothing is
// known.
func (p *pace) rate(now time.Time, moved int64) int64 {
	if n := len(p.noted); n == 0 || now.Sub(p.noted[n-1].at) >= window/marks {
		p.noted = append(p.noted, mark{now, moved})
	}
	for len(p.noted) > 1 && now.Sub(p.noted[1].at) >= window {
		p.noted = slices.Delete(p.noted, 0, 1)
	}
	first := p.noted[0]
	if now.Sub(first.at) < window/marks {
		return 0
	}
	return int64(float64(moved-first.moved) / now.Sub(first.at).Seconds())
}

// left says how long so many bytes take at a rate.
func left(bytes, rate int64) string {
	s := min(float64(bytes)/float64(rate), maxLeft.Seconds())
	return lasted(time.Duration(s * float64(time.Second)))
}
