package packagezip

import (
	"io"
	"slices"
	"strings"

	"github.com/klauspost/compress/zip"
)

// maxStart is the number of bytes that are read from an executable. ELF and Mach-O
// headers are within the first few kB. The header of a Windows program follows its DOS
// stub, which is usually shorter than 1 kB.
const maxStart = 64 << 10

// list returns the files of an archive that [Open] has accepted. All entries and sizes
// are therefore within the limits, and all names are safe.
func list(src io.ReaderAt, size int64) ([]*zip.File, error) {
	z, err := zip.NewReader(src, size)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(z.File, func(f *zip.File) bool { return strings.HasSuffix(f.Name, "/") }), nil
}

// find returns the file with the given name, which must exist.
func find(files []*zip.File, name string) *zip.File {
	return files[slices.IndexFunc(files, func(f *zip.File) bool { return f.Name == name })]
}

// startOf reads the start of a file.
func startOf(file *zip.File) ([]byte, error) {
	content, err := file.Open()
	if err != nil {
		return nil, err
	}
	defer content.Close()
	return io.ReadAll(io.LimitReader(content, maxStart))
}
