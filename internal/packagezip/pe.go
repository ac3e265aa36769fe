package packagezip

import (
	"debug/pe"
	bin "encoding/binary"
	"fmt"
)

// The format is described at https://learn.microsoft.com/windows/win32/debug/pe-format.
const (
	dosMagic = "MZ"
	// dosHeader is the size of the DOS header. The header's last four bytes contain the
	// PE header's offset.
	dosHeader = 64
	peMagic   = "PE\x00\x00"
	// peHeader is the size of the signature and the COFF header.
	peHeader = 24
)

var peArchs = map[uint16]string{
	pe.IMAGE_FILE_MACHINE_I386:  "386",
	pe.IMAGE_FILE_MACHINE_AMD64: "amd64",
	pe.IMAGE_FILE_MACHINE_ARM:   "arm",
	pe.IMAGE_FILE_MACHINE_ARMNT: "arm",
	pe.IMAGE_FILE_MACHINE_ARM64: "arm64",
}

// readPE parses the headers of a Windows program.
func readPE(start []byte) program {
	found := program{format: peFormat}
	var header []byte
	if dos := part(start, 0, dosHeader); dos != nil {
		header = part(start, uint64(bin.LittleEndian.Uint32(dos[dosHeader-4:])), peHeader)
	}
	if header == nil || string(header[:len(peMagic)]) != peMagic {
		found.defect = fmt.Sprintf("has a DOS header, but no PE header within %d bytes", maxStart)
		return found
	}
	machine := bin.LittleEndian.Uint16(header[4:])
	arch, isKnown := peArchs[machine]
	if !isKnown {
		arch = fmt.Sprintf("machine %#04x", machine)
	}
	found.archs = []string{arch}
	flags := bin.LittleEndian.Uint16(header[22:])
	if flags&pe.IMAGE_FILE_EXECUTABLE_IMAGE == 0 || flags&pe.IMAGE_FILE_DLL != 0 {
		found.defect = "is a PE file, but it is an object file or a library, not a program"
	}
	return found
}
