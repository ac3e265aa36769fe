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

// formats is what operating systems start, by Go's names for them.
var formats = map[string]format{
	"android": elfFormat, "dragonfly": elfFormat, "freebsd": elfFormat, "illumos": elfFormat, "linux": elfFormat,
	"netbsd": elfFormat, "openbsd": elfFormat, "solaris": elfFormat,
	"darwin": machoFormat, "ios": machoFormat,
	windows: peFormat,
}

// program is what the header of a binary tells. The packages of the standard
// library want the whole file at hand, ELF's section headers stand at its end;
// of them only the constants are used.
type program struct {
	format format
	// archs are the architectures in Go's words, or in the format's where Go has
	// none. A universal binary has several.
	archs []string
	// systems are the operating systems that it is for, empty when it doesn't say.
	systems []string
	// defect says why no system starts it.
	defect string
}

func (b program) String() string {
	if len(b.archs) == 0 {
		return string(b.format)
	}
	return string(b.format) + " for " + strings.Join(b.archs, " and ")
}

// identify reads the header of a binary.
func identify(start []byte) (found program, isBinary bool) {
	switch {
	case bytes.HasPrefix(start, []byte(elfMagic)):
		return readELF(start), true
	case bytes.HasPrefix(start, []byte(dosMagic)):
		return readPE(start), true
	}
	return readMacho(start)
}

// knownArchs are the architectures of a format that have a name in Go.
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

// part returns a piece of start, nil when it reaches beyond.
func part(start []byte, offset, length uint64) []byte {
	if size := uint64(len(start)); offset > size || length > size-offset {
		return nil
	}
	return start[offset : offset+length]
}
