package commandline_test

import (
	"testing"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
)

func TestParseSize(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"0": 0, "12": 12, "12B": 12, "500MB": 500e6, "20gb": 20e9, "1.5GiB": 3 << 29, "4 KiB": 4096, "2kb": 2000, "3TB": 3e12, "1TiB": 1 << 40,
		"": -1, "B": -1, "x": -1, "-1": -1, "1XB": -1, "1e30": -1, "NaN": -1, "InfGB": -1, "10000000TiB": -1,
	} {
		got, err := commandline.ParseSize(text)
		if (err != nil) != (want < 0) || err == nil && got != want {
			t.Errorf("%q is %d, %v; want %d", text, got, err, want)
		}
	}
}

func TestParseAge(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"0s": 0, "36h": 36 * time.Hour, "30d": 720 * time.Hour, "1h30m": 90 * time.Minute,
		"": -1, "d": -1, "1.5d": -1, "-1h": -1, "-2d": -1, "30": -1, "99999d": -1,
	} {
		got, err := commandline.ParseAge(text)
		if (err != nil) != (want < 0) || err == nil && got != want {
			t.Errorf("%q is %s, %v; want %s", text, got, err, want)
		}
	}
}
