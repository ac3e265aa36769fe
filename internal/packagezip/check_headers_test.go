package packagezip_test

import (
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"encoding/binary"
)

// encode encodes a header with the types of the standard library.
func encode(order binary.ByteOrder, header any) string {
	b, err := binary.Append(nil, order, header)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// elfFile describes an ELF file. By default, it is an executable for linux_amd64.
type elfFile struct {
	machine elf.Machine
	class   elf.Class
	data    elf.Data
	abi     elf.OSABI
	kind    elf.Type
}

func (f elfFile) String() string {
	if f == (elfFile{abi: f.abi, kind: f.kind}) {
		f.machine, f.class, f.data = elf.EM_X86_64, elf.ELFCLASS64, elf.ELFDATA2LSB
	}
	if f.kind == 0 {
		f.kind = elf.ET_EXEC
	}
	var order binary.ByteOrder = binary.LittleEndian
	if f.data == elf.ELFDATA2MSB {
		order = binary.BigEndian
	}
	ident := [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(f.class), byte(f.data), byte(elf.EV_CURRENT), byte(f.abi)}
	if f.class == elf.ELFCLASS32 {
		return encode(order, elf.Header32{Ident: ident, Type: uint16(f.kind), Machine: uint16(f.machine)})
	}
	return encode(order, elf.Header64{Ident: ident, Type: uint16(f.kind), Machine: uint16(f.machine)})
}

func elf32(m elf.Machine, d elf.Data) string {
	return elfFile{machine: m, class: elf.ELFCLASS32, data: d}.String()
}

func elf64(m elf.Machine, d elf.Data) string {
	return elfFile{machine: m, class: elf.ELFCLASS64, data: d}.String()
}

func machoFile(order binary.ByteOrder, magic uint32, cpu macho.Cpu, kind macho.Type) string {
	return encode(order, macho.FileHeader{Magic: magic, Cpu: cpu, Type: kind})
}

func macho64(cpu macho.Cpu) string {
	return machoFile(binary.LittleEndian, macho.Magic64, cpu, macho.TypeExec)
}

// fatFile returns the header of a universal binary for count architectures.
func fatFile(count uint32, cpus ...macho.Cpu) string {
	text := encode(binary.BigEndian, []uint32{macho.MagicFat, count})
	for _, cpu := range cpus {
		text += encode(binary.BigEndian, macho.FatArchHeader{Cpu: cpu})
	}
	return text
}

// peFile returns a file with its PE header at the given offset.
func peFile(machine, flags uint16, offset int) string {
	dos := make([]byte, max(64, offset))
	copy(dos, "MZ")
	binary.LittleEndian.PutUint32(dos[60:], uint32(offset))
	return string(dos[:offset]) + "PE\x00\x00" + encode(binary.LittleEndian, pe.FileHeader{Machine: machine, Characteristics: flags})
}

func pe64(machine uint16) string { return peFile(machine, pe.IMAGE_FILE_EXECUTABLE_IMAGE, 128) }
