package packagezip

import (
	"bytes"
	"maps"
	"slices"
	"strings"
)

// format is the name of a binary format.
type format string

const (
	elfFormat   format = "ELF"
	machoFormat format = "Mach-O"
	peFormat    format = "PE"
)

const windows = "windows"

// formats maps each GOOS value to the binary format of the operating system.
var formats = map[string]format{
	"android": elfFormat, "dragonfly": elfFormat, "freebsd": elfFormat, "illumos": elfFormat, "linux": elfFormat,
	"netbsd": elfFormat, "openbsd": elfFormat, "solaris": elfFormat,
	"darwin": machoFormat, "ios": machoFormat,
	windows: peFormat,
}

// program describes a binary, based on its header. The code uses only the constants of
// the standard library's debug packages, because the parsers in these packages require
// the complete file. For example, ELF section headers are at the end of the file.
type program struct {
	format format
	// archs contains the architectures as GOARCH values. If Go does not support an
	// architecture, archs contains its name in the binary format. A universal binary
	// has several architectures.
	archs []string
	// systems contains the operating systems as GOOS values. It is empty if the binary
	// does not specify a system.
	systems []string
	// defect explains why no operating system can start the binary. It is empty if the
	// binary has no defect.
	defect string
}

func (b program) String() string {
	if len(b.archs) == 0 {
		return string(b.format)
	}
	return string(b.format) + " for " + strings.Join(b.archs, " and ")
}

// identify parses the header of a binary.
func identify(start []byte) (found program, isBinary bool) {
	switch {
	case bytes.HasPrefix(start, []byte(elfMagic)):
		return readELF(start), true
	case bytes.HasPrefix(start, []byte(dosMagic)):
		return readPE(start), true
	}
	return readMacho(start)
}

// knownArchs returns the architectures of a format that Go supports.
func knownArchs(f format) []string {
	var known []string
	switch f {
	case elfFormat:
		for _, arch := range elfArchs {
			known = append(known, arch)
		}
	case machoFormat:
		known = slices.Collect(maps.Values(machoArchs))
	case peFormat:
		known = slices.Collect(maps.Values(peArchs))
	}
	return known
}

// part returns length bytes of start from offset, or nil if start is too short.
func part(start []byte, offset, length uint64) []byte {
	if size := uint64(len(start)); offset > size || length > size-offset {
		return nil
	}
	return start[offset : offset+length]
}
