package text_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/text"
)

func TestWrap(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		line   string
		indent string
		want   []string
	}{
		"empty":               {"", "    ", []string{""}},
		"fits":                {"  one two  three", "    ", []string{"  one two  three"}},
		"words":               {"one two three four five six", "", []string{"one two three", "four five six"}},
		"indented":            {"one two three four five six", "    ", []string{"one two three", "    four five", "    six"}},
		"long word":           {"a sha256:0123456789abcdef b", "    ", []string{"a", "    sha256:0123456789abcdef", "    b"}},
		"only a long word":    {"sha256:0123456789abcdef", "    ", []string{"sha256:0123456789abcdef"}},
		"indented long word":  {"  sha256:0123456789abcdef", "    ", []string{"  sha256:0123456789abcdef"}},
		"cells":               {"null  9 MB now  2 kB", "    ", []string{"null  9 MB now", "    2 kB"}},
		"a whole cell":        {"terraform   24.2 kB", "    ", []string{"terraform", "    24.2 kB"}},
		"three spaces":        {"terraform-a   24 kB", "    ", []string{"terraform-a", "    24 kB"}},
		"a sentence in cells": {"a  one two three four five  b", "", []string{"a  one two three", "four five  b"}},
		"trailing spaces":     {"one two three     ", "    ", []string{"one two three"}},
		"wide characters":     {"日本語 東京都 日本語", "", []string{"日本語 東京都", "日本語"}},
		"combined characters": {"e\u0301e\u0301e\u0301e\u0301 e\u0301e\u0301e\u0301 e\u0301e\u0301e\u0301e\u0301e\u0301", "", []string{"e\u0301e\u0301e\u0301e\u0301 e\u0301e\u0301e\u0301 e\u0301e\u0301e\u0301e\u0301e\u0301"}},
	} {
		if diff := cmp.Diff(test.want, text.Wrap(test.line, 16, test.indent)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}
