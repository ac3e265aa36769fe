package text

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// units lists the units of size, each with its number of bytes. A unit precedes all
// units that are suffixes of its name.
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
