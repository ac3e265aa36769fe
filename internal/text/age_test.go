package text_test

import (
	"testing"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/text"
)

func TestParseAge(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]time.Duration{
		"0s": 0, "36h": 36 * time.Hour, "30d": 720 * time.Hour, "1h30m": 90 * time.Minute,
		"": -1, "d": -1, "1.5d": -1, "-1h": -1, "-2d": -1, "30": -1, "99999d": -1,
	} {
		got, err := text.ParseAge(written)
		if (err != nil) != (want < 0) || err == nil && got != want {
			t.Errorf("%q is %s, %v; want %s", written, got, err, want)
		}
	}
}
