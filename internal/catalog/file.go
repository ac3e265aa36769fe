package catalog

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// maxFile bounds a file of addresses, in bytes: 10,000 of them have some 300 kB.
const maxFile = 1 << 20

// ReadFile reads the addresses of providers from a file: one a line, with or without
// their host. Empty lines are passed over, and what follows a #.
func ReadFile(path string) ([]provider.Address, error) {
	text, err := bounded.ReadFile(path, maxFile)
	if err != nil {
		return nil, err
	}
	all := []provider.Address{}
	for n, line := range bytes.Split(text, []byte("\n")) {
		before, _, _ := strings.Cut(string(line), "#")
		word := strings.TrimSpace(before)
		if word == "" {
			continue
		}
		a, err := provider.ParseAddress(word)
		if err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", path, n+1, err)
		}
		all = append(all, a)
	}
	return all, nil
}
