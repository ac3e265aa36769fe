package packagezip

import (
	"io"
	"slices"
	"strings"

	"github.com/klauspost/compress/zip"
)

// maxStart is how much of an executable is read. ELF and Mach-O headers are
// within the first few kB; that of a Windows program is where its DOS stub ends,
// which linkers keep below 1 kB.
const maxStart = 64 << 10

// list returns the files of an archive that [packagezip.Open] accepted: it is
// bounded in entries and sizes, and no name is insecure.
func list(src io.ReaderAt, size int64) ([]*zip.File, error) {
	z, err := zip.NewReader(src, size)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(z.File, func(f *zip.File) bool { return strings.HasSuffix(f.Name, "/") }), nil
}

// find returns the file of a name that is there.
func find(files []*zip.File, name string) *zip.File {
	return files[slices.IndexFunc(files, func(f *zip.File) bool { return f.Name == name })]
}

// startOf reads the beginning of a file.
func startOf(file *zip.File) ([]byte, error) {
	content, err := file.Open()
	if err != nil {
		return nil, err
	}
	defer content.Close()
	return io.ReadAll(io.LimitReader(content, maxStart))
}
