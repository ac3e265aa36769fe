package packagezip

import (
	"debug/elf"
	bin "encoding/binary"
	"fmt"
)

const (
	elfMagic = elf.ELFMAG
	// elfType and elfMachine are the offsets of two-byte fields. The offsets are the
	// same for 32 and 64 bits.
	elfType    = 16
	elfMachine = 18
)

// elfTarget identifies an architecture. Several architectures can share a machine
// value.
type elfTarget struct {
	machine elf.Machine
	class   elf.Class
	data    elf.Data
}

var elfArchs = map[elfTarget]string{
	{elf.EM_386, elf.ELFCLASS32, elf.ELFDATA2LSB}:       "386",
	{elf.EM_X86_64, elf.ELFCLASS64, elf.ELFDATA2LSB}:    "amd64",
	{elf.EM_ARM, elf.ELFCLASS32, elf.ELFDATA2LSB}:       "arm",
	{elf.EM_AARCH64, elf.ELFCLASS64, elf.ELFDATA2LSB}:   "arm64",
	{elf.EM_LOONGARCH, elf.ELFCLASS64, elf.ELFDATA2LSB}: "loong64",
	{elf.EM_MIPS, elf.ELFCLASS32, elf.ELFDATA2MSB}:      "mips",
	{elf.EM_MIPS, elf.ELFCLASS32, elf.ELFDATA2LSB}:      "mipsle",
	{elf.EM_MIPS, elf.ELFCLASS64, elf.ELFDATA2MSB}:      "mips64",
	{elf.EM_MIPS, elf.ELFCLASS64, elf.ELFDATA2LSB}:      "mips64le",
	{elf.EM_PPC64, elf.ELFCLASS64, elf.ELFDATA2MSB}:     "ppc64",
	{elf.EM_PPC64, elf.ELFCLASS64, elf.ELFDATA2LSB}:     "ppc64le",
	{elf.EM_RISCV, elf.ELFCLASS64, elf.ELFDATA2LSB}:     "riscv64",
	{elf.EM_S390, elf.ELFCLASS64, elf.ELFDATA2MSB}:      "s390x",
}

// elfSystems maps ABIs to operating systems. It omits ELFOSABI_NONE, which all systems
// use, and ELFOSABI_LINUX, which compilers for several systems use. DragonFly is
// derived from FreeBSD, and illumos from Solaris.
var elfSystems = map[elf.OSABI][]string{
	elf.ELFOSABI_FREEBSD: {"freebsd", "dragonfly"},
	elf.ELFOSABI_NETBSD:  {"netbsd"},
	elf.ELFOSABI_OPENBSD: {"openbsd"},
	elf.ELFOSABI_SOLARIS: {"solaris", "illumos"},
}

// readELF parses the first 20 bytes of an ELF header. See
// https://gabi.xinuos.com/elf/02-eheader.html.
func readELF(start []byte) program {
	found := program{format: elfFormat}
	header := part(start, 0, elfMachine+2)
	if header == nil {
		found.defect = "has a truncated ELF header"
		return found
	}
	target := elfTarget{class: elf.Class(header[elf.EI_CLASS]), data: elf.Data(header[elf.EI_DATA])}
	var order bin.ByteOrder = bin.LittleEndian
	if target.data == elf.ELFDATA2MSB {
		order = bin.BigEndian
	}
	target.machine = elf.Machine(order.Uint16(header[elfMachine:]))
	arch, isKnown := elfArchs[target]
	if !isKnown {
		arch = fmt.Sprintf("%v (%v, %v)", target.machine, target.class, target.data)
	}
	found.archs = []string{arch}
	found.systems = elfSystems[elf.OSABI(header[elf.EI_OSABI])]
	// Position-independent executables and shared objects have the same type.
	if kind := elf.Type(order.Uint16(header[elfType:])); kind != elf.ET_EXEC && kind != elf.ET_DYN {
		found.defect = fmt.Sprintf("is an ELF file of type %v, not an executable", kind)
	}
	return found
}
