package origintest

import (
	"archive/zip"
	"io"

	"golang.org/x/mod/sumdb/dirhash"
)

// H1 returns the "h1:…" hash of a zip archive with the given size in bytes. The result
// is the same as that of [dirhash.HashZip].
func H1(r io.ReaderAt, size int64) (string, error) {
	archive, err := zip.NewReader(r, size)
	if err != nil {
		return "", err
	}
	names, byName := make([]string, len(archive.File)), map[string]*zip.File{}
	for i, f := range archive.File {
		names[i], byName[f.Name] = f.Name, f
	}
	return dirhash.Hash1(names, func(name string) (io.ReadCloser, error) { return byName[name].Open() })
}
