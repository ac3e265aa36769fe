package text

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ParseAge parses a duration. It supports the syntax of [time.ParseDuration] and whole
// numbers of days.
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
