package sums

import (
	"fmt"

	"golang.org/x/mod/sumdb/dirhash"
)

// H1Dir returns the "h1:…" hash of the files below a directory. The hash equals the h1
// hash of the zip that the files come from, unless this zip has directory entries.
func H1Dir(dir string) (string, error) {
	h1, err := dirhash.HashDir(dir, "", dirhash.Hash1)
	if err != nil {
		return "", fmt.Errorf("hashing %s: %w", dir, err)
	}
	return h1, nil
}
