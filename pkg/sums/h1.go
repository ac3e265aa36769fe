package sums

import (
	"fmt"

	"golang.org/x/mod/sumdb/dirhash"
)

// H1Dir computes the "h1:…" hash of the files below a directory. It equals that
// of the zip they came from only when the zip does not list directories.
func H1Dir(dir string) (string, error) {
	h1, err := dirhash.HashDir(dir, "", dirhash.Hash1)
	if err != nil {
		return "", fmt.Errorf("hashing %s: %w", dir, err)
	}
	return h1, nil
}
