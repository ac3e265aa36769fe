package text_test

import (
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/text"
)

func TestParseSize(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]int64{
		"0": 0, "12": 12, "12B": 12, "500MB": 500e6, "20gb": 20e9, "1.5GiB": 3 << 29, "4 KiB": 4096, "2kb": 2000, "3TB": 3e12, "1TiB": 1 << 40,
		"": -1, "B": -1, "x": -1, "-1": -1, "1XB": -1, "1e30": -1, "NaN": -1, "InfGB": -1, "10000000TiB": -1,
	} {
		got, err := text.ParseSize(input)
		if (err != nil) != (want < 0) || err == nil && got != want {
			t.Errorf("%q is %d, %v; want %d", input, got, err, want)
		}
	}
}
