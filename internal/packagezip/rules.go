package packagezip

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/klauspost/compress/zip"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// maxProblems is how many problems of one archive are told: a broken one may
// have one in each of its entries.
const maxProblems = 20

// Bits of an entry's flags, from the zip specification (APPNOTE.TXT 4.4.4).
const (
	flagEncrypted       = 1 << 0
	flagStrongEncrypted = 1 << 6
	flagMasked          = 1 << 13
)

// check collects the problems of all entries.
func check(entries []*zip.File) error {
	var problems []error
	report := func(name, problem string) {
		if problem != "" {
			problems = append(problems, &provider.ArchiveError{Name: name, Problem: problem})
		}
	}
	if len(entries) == 0 {
		report("", "is empty")
	}
	var total uint64
	tree := newTree()
	for _, entry := range entries {
		report(entry.Name, checkForm(entry))
		if problem := checkName(entry.Name); problem != "" {
			report(entry.Name, problem)
		} else {
			report(entry.Name, tree.add(entry.Name))
		}
		// Each is capped so that the sum can't wrap around.
		total += min(entry.UncompressedSize64, sums.MaxZipContents+1)
	}
	if total > sums.MaxZipContents {
		report("", fmt.Sprintf("unpacks to more than %d bytes", int64(sums.MaxZipContents)))
	}
	if more := len(problems) - maxProblems; more > 0 {
		problems = append(problems[:maxProblems:maxProblems], fmt.Errorf("and %d more problems", more))
	}
	return errors.Join(problems...)
}

// checkForm says what is wrong with an entry apart from its name.
func checkForm(entry *zip.File) string {
	kind := entry.Mode().Type()
	switch {
	case kind&fs.ModeSymlink != 0:
		return "is a symbolic link"
	case kind&^fs.ModeDir != 0:
		return "is neither a file nor a directory"
	case kind.IsDir() && !isDirectory(entry):
		return "is a directory by its mode and a file by its name"
	case isDirectory(entry) && entry.UncompressedSize64 != 0:
		return "is a directory with contents"
	case entry.Flags&(flagEncrypted|flagStrongEncrypted|flagMasked) != 0:
		return "is encrypted"
	case entry.Method != zip.Store && entry.Method != zip.Deflate:
		return fmt.Sprintf("is compressed with method %d, only stored (0) and deflated (8) are common to all unpackers", entry.Method)
	}
	return ""
}

// isDirectory goes by the name, as zip readers do.
func isDirectory(entry *zip.File) bool { return strings.HasSuffix(entry.Name, "/") }
