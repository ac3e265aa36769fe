package packagezip

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/klauspost/compress/zip"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

const (
	// maxProblems is the maximum number of reported problems. A broken archive can have
	// a problem in every entry.
	maxProblems = 20
	// maxArchive limits the archive's size in bytes. A deflate stream can be endless
	// without producing output, so maxContents is not sufficient.
	maxArchive = 2 * maxContents
	// maxContents limits the total size of the contents in bytes. The largest known
	// provider is smaller than 1 GiB, but zip bombs can unpack to terabytes.
	maxContents = 4 << 30
	// maxEntries limits the number of files. Most providers have fewer than ten files,
	// but some contain a language runtime with thousands of files.
	maxEntries = 100_000
)

// Flag bits of an entry (APPNOTE.TXT 4.4.4).
const (
	flagEncrypted       = 1 << 0
	flagDescribed       = 1 << 3
	flagStrongEncrypted = 1 << 6
	flagMasked          = 1 << 13
)

// limits contains the limits for an archive. Only tests change them.
type limits struct {
	// entries limits the number of files and directories. It includes directories
	// without entries.
	entries int
	// contents and archive limit sizes in bytes.
	contents uint64
	archive  int64
}

func usualLimits() limits {
	return limits{entries: maxEntries, contents: maxContents, archive: maxArchive}
}

func (l limits) tooMany() error {
	return archiveError("has more than %d entries", l.entries)
}

func (l limits) tooMuch() error {
	return archiveError("unpacks to more than %d bytes", l.contents)
}

func (l limits) tooLarge() error {
	return archiveError("exceeds %d bytes", l.archive)
}

// ErrArchive is wrapped by all errors about an archive that is damaged or unsafe to
// unpack.
var ErrArchive = provider.Errorf(provider.Unverified, "the zip archive")

// archiveError returns an error about the complete archive. The format is the predicate
// of a sentence whose subject is the archive.
func archiveError(format string, args ...any) error {
	return fmt.Errorf("%w %s", ErrArchive, fmt.Sprintf(format, args...))
}

// entryError is like archiveError, but if name is not empty, the error is about an
// entry.
func entryError(name, format string, args ...any) error {
	if name == "" {
		return archiveError(format, args...)
	}
	return fmt.Errorf("%w's entry %q %s", ErrArchive, name, fmt.Sprintf(format, args...))
}

// check returns the problems with the entries.
func check(entries []entry, limits limits) error {
	var problems []error
	report := func(name, problem string) {
		if problem != "" {
			problems = append(problems, entryError(name, "%s", problem))
		}
	}
	if len(entries) == 0 {
		report("", "is empty")
	}
	var total uint64
	tree := newTree()
	for _, entry := range entries {
		report(entry.name, checkForm(entry))
		report(entry.name, tree.check(entry.name))
		if len(tree.nodes) > limits.entries {
			problems = append(problems, limits.tooMany())
			break
		}
		// Sizes are capped to prevent an overflow.
		total += min(entry.size, limits.contents+1)
	}
	if total > limits.contents {
		problems = append(problems, limits.tooMuch())
	}
	if more := len(problems) - maxProblems; more > 0 {
		problems = append(problems[:maxProblems:maxProblems], fmt.Errorf("and %d more problems", more))
	}
	return errors.Join(problems...)
}

// checkForm returns a problem that doesn't concern the entry's name, or an empty
// string.
func checkForm(e entry) string {
	kind := e.mode().Type()
	switch {
	case kind&fs.ModeSymlink != 0:
		return "is a symbolic link"
	case kind&^fs.ModeDir != 0:
		return "is neither a file nor a directory"
	case kind.IsDir() && !e.isDirectory():
		return "has the mode of a directory, but its name does not end with a slash"
	case e.isDirectory() && e.size != 0:
		return "is a directory with contents"
	}
	return checkPacking(e.header)
}

// checkPacking returns a problem with the entry's compression, or an empty string.
func checkPacking(h header) string {
	switch {
	case h.flags&(flagEncrypted|flagStrongEncrypted|flagMasked) != 0:
		return "is encrypted"
	case h.method != zip.Store && h.method != zip.Deflate:
		return fmt.Sprintf("is compressed with method %d; only stored (0) and deflated (8) are supported", h.method)
	}
	return ""
}
