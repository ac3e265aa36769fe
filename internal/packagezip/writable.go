package packagezip

import (
	"bytes"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	bin "encoding/binary"
	"math"
)

// writableData returns the offsets of an executable's initialized writable data, in
// which linkers place the build information. Other parts can contain the build
// information of embedded executables. If the format is unknown, writableData returns
// the offsets of the entire file.
func writableData(start []byte) *span {
	found := span{start: math.MaxUint64}
	switch {
	case bytes.HasPrefix(start, []byte(elfMagic)) && len(start) > elfType:
		found.addELF(start)
	case bytes.HasPrefix(start, []byte(dosMagic)):
		found.addPE(start)
	case len(start) >= 4 && bin.LittleEndian.Uint32(start) == macho.Magic64:
		found.addMacho(start)
	}
	if found.start >= found.end {
		return &span{end: math.MaxUint64}
	}
	return &found
}

func (s *span) add(start, size uint64) {
	if size > 0 && size <= math.MaxUint64-start {
		s.start, s.end = min(s.start, start), max(s.end, start+size)
	}
}

// decode decodes a structure at an offset. It reports whether start contains the entire
// structure.
func decode(start []byte, at uint64, order bin.ByteOrder, structure any) bool {
	_, err := bin.Decode(start[min(at, uint64(len(start))):], order, structure)
	return err == nil
}

// addELF adds the segments that are writable and not executable.
func (s *span) addELF(start []byte) {
	var order bin.ByteOrder = bin.LittleEndian
	if elf.Data(start[elf.EI_DATA]) == elf.ELFDATA2MSB {
		order = bin.BigEndian
	}
	isData := func(kind, flags uint32) bool {
		return elf.ProgType(kind) == elf.PT_LOAD && elf.ProgFlag(flags)&(elf.PF_X|elf.PF_W) == elf.PF_W
	}
	if elf.Class(start[elf.EI_CLASS]) == elf.ELFCLASS64 {
		var h elf.Header64
		decode(start, 0, order, &h)
		for i := range uint64(h.Phnum) {
			var p elf.Prog64
			if decode(start, h.Phoff+i*uint64(h.Phentsize), order, &p) && isData(p.Type, p.Flags) {
				s.add(p.Off, p.Filesz)
			}
		}
		return
	}
	var h elf.Header32
	decode(start, 0, order, &h)
	for i := range uint64(h.Phnum) {
		var p elf.Prog32
		if decode(start, uint64(h.Phoff)+i*uint64(h.Phentsize), order, &p) && isData(p.Type, p.Flags) {
			s.add(uint64(p.Off), uint64(p.Filesz))
		}
	}
}

// addPE adds the sections with initialized writable data.
func (s *span) addPE(start []byte) {
	const (
		sectionSize = 40
		wanted      = pe.IMAGE_SCN_CNT_INITIALIZED_DATA | pe.IMAGE_SCN_MEM_WRITE
	)
	dos := part(start, 0, dosHeader)
	if dos == nil {
		return
	}
	at := uint64(bin.LittleEndian.Uint32(dos[dosHeader-4:]))
	var h pe.FileHeader
	decode(start, at+uint64(len(peMagic)), bin.LittleEndian, &h)
	at += peHeader + uint64(h.SizeOfOptionalHeader)
	for i := range uint64(h.NumberOfSections) {
		var section pe.SectionHeader32
		if decode(start, at+i*sectionSize, bin.LittleEndian, &section) && section.Characteristics&wanted == wanted {
			s.add(uint64(section.PointerToRawData), uint64(section.SizeOfRawData))
		}
	}
}

// addMacho adds the writable segments of a 64-bit file. All processors that Go supports
// are little-endian.
func (s *span) addMacho(start []byte) {
	const readWrite = 3
	var h macho.FileHeader
	decode(start, 0, bin.LittleEndian, &h)
	at := uint64(machoHeader + 4) // a reserved field follows the header
	for range h.Ncmd {
		var command struct {
			Cmd macho.LoadCmd
			Len uint32
		}
		if !decode(start, at, bin.LittleEndian, &command) || command.Len == 0 {
			return
		}
		var segment macho.Segment64
		if command.Cmd == macho.LoadCmdSegment64 && decode(start, at, bin.LittleEndian, &segment) && segment.Prot == readWrite {
			s.add(segment.Offset, segment.Filesz)
		}
		at += uint64(command.Len)
	}
}
