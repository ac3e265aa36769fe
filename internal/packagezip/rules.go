package packagezip

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/klauspost/compress/zip"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

const (
	// maxProblems is how many problems of one archive are told: a broken one may
	// have one in each of its entries.
	maxProblems = 20
	// maxArchive bounds the archive itself. A deflate stream can be endless and
	// give nothing, which the bound on contents does not notice.
	maxArchive = 2 * maxContents
	// maxContents bounds what one archive may expand to, in bytes. The largest provider
	// known is below 1 GiB; a zip bomb reaches terabytes.
	maxContents = 4 << 30
	// maxEntries bounds the files in an archive. Providers have a handful; some bundle a
	// runtime with thousands.
	maxEntries = 100_000
)

// Bits of an entry's flags, from the zip specification (APPNOTE.TXT 4.4.4).
const (
	flagEncrypted       = 1 << 0
	flagDescribed       = 1 << 3
	flagStrongEncrypted = 1 << 6
	flagMasked          = 1 << 13
)

// limits are what an archive may have. Only tests use others than the usual.
type limits struct {
	// entries counts files and directories, those too that are only in the names
	// of others: each becomes something on the disk.
	entries int
	// contents and archive are in bytes.
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
	return archiveError("is larger than %d bytes", l.archive)
}

// ErrArchive is what all errors about an archive wrap that is damaged, or breaks a rule
// under which it unpacks safely and to the same files on every system.
var ErrArchive = provider.Errorf(provider.Unverified, "the zip archive")

// archiveError returns an error about the archive as a whole. Its text continues "the zip
// archive".
func archiveError(format string, args ...any) error {
	return fmt.Errorf("%w %s", ErrArchive, fmt.Sprintf(format, args...))
}

// entryError returns an error about an entry, or the archive if the name is empty. Its
// text continues that name.
func entryError(name, format string, args ...any) error {
	if name == "" {
		return archiveError(format, args...)
	}
	return fmt.Errorf("%w's entry %q %s", ErrArchive, name, fmt.Sprintf(format, args...))
}

// check collects the problems of all entries.
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
		// Each is capped so that the sum can't wrap around.
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

// checkForm says what is wrong with an entry apart from its name.
func checkForm(e entry) string {
	kind := e.mode().Type()
	switch {
	case kind&fs.ModeSymlink != 0:
		return "is a symbolic link"
	case kind&^fs.ModeDir != 0:
		return "is neither a file nor a directory"
	case kind.IsDir() && !e.isDirectory():
		return "is a directory by its mode and a file by its name"
	case e.isDirectory() && e.size != 0:
		return "is a directory with contents"
	}
	return checkPacking(e.header)
}

// checkPacking says what is wrong with how an entry is packed.
func checkPacking(h header) string {
	switch {
	case h.flags&(flagEncrypted|flagStrongEncrypted|flagMasked) != 0:
		return "is encrypted"
	case h.method != zip.Store && h.method != zip.Deflate:
		return fmt.Sprintf("is compressed with method %d, only stored (0) and deflated (8) are common to all unpackers", h.method)
	}
	return ""
}
