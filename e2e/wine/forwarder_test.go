//go:build wine

package wine_test

import (
	"bytes"
	"debug/pe"
	"encoding/binary"
)

// randomLibrary is the library from which Go reads random numbers. It is missing in
// Wine 8.
const randomLibrary = "bcryptprimitives.dll"

const (
	// fileAlignment is the alignment of sections in the file, and pageSize their
	// alignment in memory.
	fileAlignment = 0x200
	pageSize      = 0x1000
)

// exports is the export directory of a library that exports one function.
// https://learn.microsoft.com/windows/win32/debug/pe-format#the-edata-section-image-only
type exports struct {
	Flags, Timestamp          uint32
	Major, Minor              uint16
	Library                   uint32
	OrdinalBase               uint32
	FunctionCount, NameCount  uint32
	Functions, Names, Numbers uint32
	// Function is the address of the forwarder's text, Name is the address of the
	// function's name, and Number is the function's index.
	Function, Name uint32
	Number         uint16
}

// forwarder returns a library without code. The library forwards its only function to
// target, which has the form "library.function".
func forwarder(library, function, target string) []byte {
	var e exports
	directory := pageSize + uint32(binary.Size(e)) - 10 // address of the data after the directory: two addresses and a number
	e.OrdinalBase, e.FunctionCount, e.NameCount = 1, 1, 1
	e.Functions, e.Names, e.Numbers = directory, directory+4, directory+8
	e.Library = directory + 10
	e.Name = e.Library + uint32(len(library)+1)
	e.Function = e.Name + uint32(len(function)+1)
	section := little(e)
	for _, text := range []string{library, function, target} {
		section = append(append(section, text...), 0)
	}
	file := headers(uint32(len(section)))
	file = append(file, make([]byte, fileAlignment-len(file))...)
	return append(file, append(section, make([]byte, fileAlignment-len(section))...)...)
}

// headers returns the headers of a library whose only section contains the exports.
func headers(size uint32) []byte {
	optional := pe.OptionalHeader64{
		Magic: 0x20b, SizeOfInitializedData: fileAlignment, ImageBase: 0x180000000, SectionAlignment: pageSize, FileAlignment: fileAlignment,
		MajorOperatingSystemVersion: 6, MajorSubsystemVersion: 6, SizeOfImage: 2 * pageSize, SizeOfHeaders: fileAlignment,
		Subsystem:          pe.IMAGE_SUBSYSTEM_WINDOWS_CUI,
		DllCharacteristics: pe.IMAGE_DLLCHARACTERISTICS_DYNAMIC_BASE | pe.IMAGE_DLLCHARACTERISTICS_NX_COMPAT,
		SizeOfStackReserve: 1 << 20, SizeOfStackCommit: pageSize, SizeOfHeapReserve: 1 << 20, SizeOfHeapCommit: pageSize, NumberOfRvaAndSizes: 16,
	}
	optional.DataDirectory[pe.IMAGE_DIRECTORY_ENTRY_EXPORT] = pe.DataDirectory{VirtualAddress: pageSize, Size: size}
	section := pe.SectionHeader32{
		Name: [8]uint8{'.', 'e', 'd', 'a', 't', 'a'}, VirtualSize: size, VirtualAddress: pageSize, SizeOfRawData: fileAlignment, PointerToRawData: fileAlignment,
		Characteristics: pe.IMAGE_SCN_CNT_INITIALIZED_DATA | pe.IMAGE_SCN_MEM_READ,
	}
	dos := make([]byte, 64)
	copy(dos, "MZ")
	dos[60] = byte(len(dos)) // offset of the PE header
	return bytes.Join([][]byte{dos, []byte("PE\x00\x00"), little(pe.FileHeader{
		Machine: pe.IMAGE_FILE_MACHINE_AMD64, NumberOfSections: 1, SizeOfOptionalHeader: uint16(binary.Size(optional)),
		Characteristics: pe.IMAGE_FILE_EXECUTABLE_IMAGE | pe.IMAGE_FILE_LARGE_ADDRESS_AWARE | pe.IMAGE_FILE_DLL,
	}), little(optional), little(section)}, nil)
}

func little(v any) []byte {
	var out bytes.Buffer
	if err := binary.Write(&out, binary.LittleEndian, v); err != nil {
		panic(err) // v does not have a fixed size
	}
	return out.Bytes()
}
