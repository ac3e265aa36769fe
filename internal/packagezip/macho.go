package packagezip

import (
	"debug/macho"
	bin "encoding/binary"
	"fmt"
)

const (
	// Sizes of the structures in Apple's mach-o/loader.h and mach-o/fat.h.
	machoHeader = 28
	fatHeader   = 8
	fatArch     = 20
	// maxFatArchs distinguishes universal binaries from Java class files, which start
	// with the same four bytes. In class files, the next field is a version of at least
	// 45.
	maxFatArchs = 44
)

var machoArchs = map[macho.Cpu]string{
	macho.Cpu386:   "386",
	macho.CpuAmd64: "amd64",
	macho.CpuArm:   "arm",
	macho.CpuArm64: "arm64",
}

// readMacho parses the header of a Mach-O file or of a universal binary.
func readMacho(start []byte) (found program, isBinary bool) {
	magic := part(start, 0, 4)
	if magic == nil {
		return program{}, false
	}
	if bin.BigEndian.Uint32(magic) == macho.MagicFat {
		return readFat(start)
	}
	for _, order := range []bin.ByteOrder{bin.LittleEndian, bin.BigEndian} {
		if m := order.Uint32(magic); m == macho.Magic32 || m == macho.Magic64 {
			return readThin(start, order), true
		}
	}
	return program{}, false
}

func readThin(start []byte, order bin.ByteOrder) program {
	found := program{format: machoFormat}
	header := part(start, 0, machoHeader)
	if header == nil {
		found.defect = "has a truncated Mach-O header"
		return found
	}
	found.archs = []string{machoArch(order.Uint32(header[4:]))}
	if kind := macho.Type(order.Uint32(header[12:])); kind != macho.TypeExec {
		found.defect = fmt.Sprintf("is a Mach-O file of type %v, not an executable", kind)
	}
	return found
}

func readFat(start []byte) (found program, isBinary bool) {
	header := part(start, 0, fatHeader)
	if header == nil {
		return program{}, false
	}
	count := uint64(bin.BigEndian.Uint32(header[4:]))
	if count == 0 || count > maxFatArchs {
		return program{}, false
	}
	found = program{format: machoFormat}
	archs := part(start, fatHeader, count*fatArch)
	if archs == nil {
		found.defect = "has a truncated Mach-O header"
		return found, true
	}
	for ; len(archs) > 0; archs = archs[fatArch:] {
		found.archs = append(found.archs, machoArch(bin.BigEndian.Uint32(archs)))
	}
	return found, true
}

func machoArch(cpu uint32) string {
	if arch, isKnown := machoArchs[macho.Cpu(cpu)]; isKnown {
		return arch
	}
	return macho.Cpu(cpu).String()
}
