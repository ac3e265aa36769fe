package packagezip

import (
	"bytes"
	bin "encoding/binary"
	"runtime/debug"
	"strings"
)

const (
	// The linker writes build information as a header, the Go version, and the modules.
	// Each string is preceded by its length as a varint. See readRawBuildInfo in Go's
	// debug/buildinfo.
	buildInfoMagic  = "\xff Go buildinf:"
	buildInfoAlign  = 16
	buildInfoHeader = 32
	// buildInfoFlags is the offset of the flags. Since Go 1.18, the flag inlineStrings
	// is set.
	buildInfoFlags = 15
	inlineStrings  = 2
	bigEndian      = 1
	// The go command encloses the modules in these markers. See ModInfoData in Go's
	// cmd/go/internal/modload.
	modulesStart = "\x30\x77\xaf\x0c\x92\x74\x08\x02\x41\xe1\xc1\x07\xe6\xd6\x18\xe6"
	modulesEnd   = "\xf9\x32\x43\x31\x86\x18\x20\x72\x00\x82\x42\x10\x41\x16\xd8\xf2"

	// maxGoVersion is the maximum length of a Go version. This length fits in a varint
	// of one byte.
	maxGoVersion = 127
	// The largest providers depend on about a thousand modules.
	maxModulesSize = 1 << 20
	maxModules     = 10_000
)

// HashOption is an option of [NewHashWriter], [HashAny], and [Reader.Contents].
type HashOption func(*hasher)

// WithBuildInfo requests the Go build information of the executable that OpenTofu
// starts for a provider type. The information is returned in [Contents.BuildInfo].
func WithBuildInfo(typ string) HashOption {
	return func(h *hasher) { h.scan = &buildInfoScan{typ: typ} }
}

// buildInfoScan finds the build information of an executable without random access. It
// buffers at most one incomplete header.
type buildInfoScan struct {
	typ string
	// name is the first file in lexical order that OpenTofu could start. active reports
	// whether the file is being read.
	name   string
	active bool
	found  *debug.BuildInfo
	// data contains the offsets of the file's writable data. It is nil until the start
	// of the file has been read.
	data *span
	// rest contains bytes that could be the start of a header. offset is their offset
	// in the file, which is a multiple of buildInfoAlign.
	rest   []byte
	offset uint64
	// checked is the number of bytes that isText has read. Tests use it to check that
	// the work is proportional to the size of the file.
	checked uint64
}

// span is a range of offsets.
type span struct{ start, end uint64 }

func (s *buildInfoScan) begin(name string) {
	s.active = isNamed(s.typ, name) && !strings.Contains(name, "/") && (s.name == "" || name < s.name)
	if s.active {
		*s = buildInfoScan{typ: s.typ, name: name, active: true}
	}
}

// write scans the next bytes of a file. The first call must pass all headers of the
// executable.
func (s *buildInfoScan) write(p []byte) {
	if !s.active || s.found != nil {
		return
	}
	if s.data == nil {
		s.data = writableData(p[:min(len(p), maxStart)])
	}
	if len(s.rest) > 0 {
		p = append(s.rest, p...)
	}
	i := 0
	if s.offset >= s.data.end || s.offset+uint64(len(p)) <= s.data.start {
		i = len(p) &^ (buildInfoAlign - 1)
	}
	for ; len(p)-i >= buildInfoAlign; i += buildInfoAlign {
		if at := s.offset + uint64(i); p[i] != buildInfoMagic[0] || at < s.data.start || at >= s.data.end || !bytes.HasPrefix(p[i:], []byte(buildInfoMagic)) {
			continue
		}
		info, size, more := s.parse(p[i:])
		if more {
			break
		}
		if s.found = info; info != nil {
			s.rest = nil
			return
		}
		i += max(size&^(buildInfoAlign-1)-buildInfoAlign, 0)
	}
	s.rest = append(s.rest[:0], p[i:]...)
	s.offset += uint64(i)
}

// parse parses the build information at the start of b. more reports whether b is too
// short. If the information is invalid, info is nil, and the caller skips size bytes.
// These bytes contain no other header, because the magic bytes are neither valid text
// nor valid lengths. Therefore, each byte is parsed only once, even if an executable
// contains many invalid headers.
func (s *buildInfoScan) parse(b []byte) (info *debug.BuildInfo, size int, more bool) {
	// 1. The header and the Go version.
	if len(b) <= buildInfoHeader {
		return nil, 0, true
	}
	if flags := b[buildInfoFlags]; flags&^bigEndian != inlineStrings || len(bytes.Trim(b[buildInfoFlags+1:buildInfoHeader], "\x00")) > 0 {
		return nil, 0, false
	}
	length := int(b[buildInfoHeader])
	version := b[buildInfoHeader+1:]
	if length == 0 || length > maxGoVersion {
		return nil, 0, false
	}
	if version = version[:min(length, len(version))]; !s.isText(version) {
		return nil, 0, false
	}
	size = buildInfoHeader + 1 + length
	if len(b) <= size {
		return nil, 0, true
	}
	// 2. The modules.
	total, n := bin.Uvarint(b[size:])
	switch {
	case n == 0:
		return nil, 0, true
	case n < 0 || total > maxModulesSize || total > 0 && total <= uint64(len(modulesStart)+len(modulesEnd)):
		return nil, size, false
	case total == 0: // built without modules
		return &debug.BuildInfo{GoVersion: string(version)}, size + n, false
	}
	framed := b[size+n:]
	framed = framed[:min(total, uint64(len(framed)))]
	if start := framed[:min(len(framed), len(modulesStart))]; !strings.HasPrefix(modulesStart, string(start)) {
		return nil, size, false
	}
	end := int(total) - len(modulesEnd)
	lines := framed[min(len(framed), len(modulesStart)):min(len(framed), end)]
	switch {
	case !s.isText(lines) || bytes.Count(lines, []byte("\n")) > maxModules:
		return nil, size, false
	case uint64(len(framed)) < total:
		return nil, 0, true
	case string(framed[end:]) != modulesEnd:
		return nil, size + n + end, false
	}
	info, err := debug.ParseBuildInfo(string(lines))
	if err != nil {
		return nil, size + n + end, false
	}
	info.GoVersion = string(version)
	return info, size + n + int(total), false
}

// isText reports whether b contains only lines of text. The first magic byte never
// occurs in UTF-8.
func (s *buildInfoScan) isText(b []byte) bool {
	for i, c := range b {
		if c < ' ' && c != '\t' && c != '\n' || c == 0x7f || c == buildInfoMagic[0] {
			s.checked += uint64(i)
			return false
		}
	}
	s.checked += uint64(len(b))
	return true
}
