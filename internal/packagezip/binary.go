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

// formats maps GOOS to the binary format of the operating system.
var formats = map[string]format{
	"android": elfFormat, "dragonfly": elfFormat, "freebsd": elfFormat, "illumos": elfFormat, "linux": elfFormat,
	"netbsd": elfFormat, "openbsd": elfFormat, "solaris": elfFormat,
	"darwin": machoFormat, "ios": machoFormat,
	windows: peFormat,
}

// program is the content of a binary's header. Only constants of the debug packages in
// the standard library are used, because these packages require the complete file: ELF
// section headers are at its end.
type program struct {
	format format
	// archs are the architectures as GOARCH or, if Go does not support them, by their
	// names in the format. A universal binary has several.
	archs []string
	// systems are the operating systems as GOOS. It is empty if the binary does not
	// specify any.
	systems []string
	// defect is the reason why no operating system can start the binary, or empty.
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

// part returns length bytes of start from offset, or nil if they exceed start.
func part(start []byte, offset, length uint64) []byte {
	if size := uint64(len(start)); offset > size || length > size-offset {
		return nil
	}
	return start[offset : offset+length]
}
