package origintest

import (
	"archive/zip"
	"io"

	"golang.org/x/mod/sumdb/dirhash"
)

// H1 returns a zip archive's "h1:…" hash. size is the archive's size in bytes. The
// result is the same as the result of [dirhash.HashZip].
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
