package commandline

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// units are the units of sizes, in bytes. Longer names precede their suffixes.
var units = []struct {
	name  string
	bytes float64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12},
	{"B", 1},
}

// ParseSize parses a number of bytes with an optional unit.
func ParseSize(text string) (int64, error) {
	number, unit := text, 1.0
	for _, u := range units {
		if len(text) > len(u.name) && strings.EqualFold(text[len(text)-len(u.name):], u.name) {
			number, unit = text[:len(text)-len(u.name)], u.bytes
			break
		}
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if n *= unit; err != nil || !(n >= 0 && n < math.MaxInt64) {
		return 0, fmt.Errorf("invalid size %q: want a number with an optional unit, such as 500MB or 20GiB", text)
	}
	return int64(n), nil
}

// ParseAge parses a duration. In addition to the syntax of [time.ParseDuration], it
// accepts a whole number of days.
func ParseAge(text string) (time.Duration, error) {
	const day = 24 * time.Hour
	d, err := time.ParseDuration(text)
	if days, is := strings.CutSuffix(text, "d"); is {
		var n uint64
		if n, err = strconv.ParseUint(days, 10, 16); err == nil {
			d = time.Duration(n) * day
		}
	}
	if err != nil || d < 0 {
		return 0, fmt.Errorf("invalid duration %q: want a number and a unit, such as 36h or 30d", text)
	}
	return d, nil
}
