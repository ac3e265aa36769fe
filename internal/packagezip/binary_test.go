package packagezip_test

import (
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
)

const (
	lsb = elf.ELFDATA2LSB
	msb = elf.ELFDATA2MSB
)

// natives returns a binary for every platform whose binaries can be identified.
func natives() map[string]string {
	linux := map[string]string{
		"386":      elf32(elf.EM_386, lsb),
		"amd64":    elf64(elf.EM_X86_64, lsb),
		"arm":      elf32(elf.EM_ARM, lsb),
		"arm64":    elf64(elf.EM_AARCH64, lsb),
		"loong64":  elf64(elf.EM_LOONGARCH, lsb),
		"mips":     elf32(elf.EM_MIPS, msb),
		"mipsle":   elf32(elf.EM_MIPS, lsb),
		"mips64":   elf64(elf.EM_MIPS, msb),
		"mips64le": elf64(elf.EM_MIPS, lsb),
		"ppc64":    elf64(elf.EM_PPC64, msb),
		"ppc64le":  elf64(elf.EM_PPC64, lsb),
		"riscv64":  elf64(elf.EM_RISCV, lsb),
		"s390x":    elf64(elf.EM_S390, msb),
	}
	all := map[string]string{
		"darwin_amd64":    macho64(macho.CpuAmd64),
		"darwin_arm64":    macho64(macho.CpuArm64),
		"ios_arm64":       macho64(macho.CpuArm64),
		"darwin_386":      machoFile(binary.LittleEndian, macho.Magic32, macho.Cpu386, macho.TypeExec),
		"darwin_arm":      machoFile(binary.LittleEndian, macho.Magic32, macho.CpuArm, macho.TypeExec),
		"windows_386":     pe64(pe.IMAGE_FILE_MACHINE_I386),
		"windows_amd64":   pe64(pe.IMAGE_FILE_MACHINE_AMD64),
		"windows_arm":     pe64(pe.IMAGE_FILE_MACHINE_ARMNT),
		"windows_arm64":   pe64(pe.IMAGE_FILE_MACHINE_ARM64),
		"freebsd_amd64":   elfFile{abi: elf.ELFOSABI_FREEBSD}.String(),
		"dragonfly_amd64": elfFile{abi: elf.ELFOSABI_FREEBSD}.String(),
		"netbsd_amd64":    elfFile{abi: elf.ELFOSABI_NETBSD}.String(),
		"openbsd_amd64":   elfFile{abi: elf.ELFOSABI_OPENBSD}.String(),
		"solaris_amd64":   elfFile{abi: elf.ELFOSABI_SOLARIS}.String(),
		"illumos_amd64":   elfFile{abi: elf.ELFOSABI_SOLARIS}.String(),
	}
	for arch, header := range linux {
		all["linux_"+arch] = header
	}
	return all
}

// named returns a package whose executable has a name that is valid on every system.
func named(t *testing.T, content string) []byte {
	t.Helper()
	return packageOf(t, file{name: "terraform-provider-x.exe", content: content})
}

// TestBinaryOfEachPlatform checks that a binary is accepted for its own architecture,
// and rejected for all other architectures and formats.
func TestBinaryOfEachPlatform(t *testing.T) {
	t.Parallel()
	all := natives()
	for made, header := range all {
		data := named(t, header)
		for p := range all {
			report, err := checkPackage(t, data, p)
			got := problems(t, err)
			madeOS, madeArch, _ := strings.Cut(made, "_")
			os, arch, _ := strings.Cut(p, "_")
			same := format(madeOS) == format(os) && madeArch == arch && (madeOS == "linux" || slices.Contains(family(madeOS), os))
			if same != (len(got) == 0) {
				t.Errorf("a binary for %s in a package for %s: %q", made, p, got)
			}
			if len(report.Warnings) > 0 {
				t.Errorf("a binary for %s in a package for %s: %q", made, p, report.Warnings)
			}
		}
	}
}

func format(os string) string {
	switch os {
	case "darwin", "ios":
		return "Mach-O"
	case "windows":
		return "PE"
	}
	return "ELF"
}

// family returns all systems whose binaries look the same as binaries for os.
func family(os string) []string {
	for _, related := range [][]string{{"darwin", "ios"}, {"freebsd", "dragonfly"}, {"solaris", "illumos"}} {
		if slices.Contains(related, os) {
			return related
		}
	}
	return []string{os}
}

func TestBinaries(t *testing.T) {
	t.Parallel()
	universal := fatFile(2, macho.CpuAmd64, macho.CpuArm64)
	const exe = pe.IMAGE_FILE_EXECUTABLE_IMAGE
	tests := []struct {
		test     string
		platform string
		content  string
		problems []string
		warnings []string
	}{
		{"ELF for Android", "android_arm64", elf64(elf.EM_AARCH64, lsb), nil, nil},
		{"position-independent ELF", "linux_amd64", elfFile{kind: elf.ET_DYN}.String(), nil, nil},
		{"ELF object", "linux_amd64", elfFile{kind: elf.ET_REL}.String(), []string{"an ELF file of type ET_REL"}, nil},
		{"ELF by GNU", "freebsd_amd64", elfFile{abi: elf.ELFOSABI_LINUX}.String(), nil, nil},
		{"ELF without an ABI", "freebsd_amd64", elfFile{}.String(), nil, nil},
		{"ELF for FreeBSD", "linux_amd64", elfFile{abi: elf.ELFOSABI_FREEBSD}.String(), []string{"is ELF for freebsd or dragonfly, not for linux"}, nil},
		{"ELF of 32 bits", "linux_amd64", elf32(elf.EM_X86_64, lsb), []string{"is ELF for EM_X86_64 (ELFCLASS32, ELFDATA2LSB), not for amd64"}, nil},
		{"ELF in the wrong byte order", "linux_ppc64le", elf64(elf.EM_PPC64, msb), []string{"is ELF for ppc64, not for ppc64le"}, nil},
		{"ELF for FreeBSD and another architecture", "linux_arm64", elfFile{abi: elf.ELFOSABI_FREEBSD}.String(), []string{"not for linux", "is ELF for amd64, not for arm64"}, nil},
		{"ELF for an architecture unknown to Go", "linux_sparc64", elf64(elf.EM_SPARCV9, msb), nil, []string{"is ELF for EM_SPARCV9 (ELFCLASS64, ELFDATA2MSB); the architecture of linux_sparc64 is unknown"}},
		{"ELF truncated", "linux_amd64", elfFile{}.String()[:19], []string{"has a truncated ELF header"}, nil},
		{"ELF for a system that does not start it", "wasip1_wasm", elfFile{}.String(), nil, []string{"the binary format of wasip1 is unknown"}},

		{"Mach-O for both", "darwin_amd64", universal, nil, nil},
		{"Mach-O with an additional architecture", "darwin_arm64", universal, nil, nil},
		{"Mach-O for both on Linux", "linux_amd64", universal, []string{"is Mach-O for amd64 and arm64; linux_amd64 requires ELF"}, nil},
		{"Mach-O for both, neither matches", "darwin_386", universal, []string{"is Mach-O for amd64 and arm64, not for 386"}, nil},
		{"Mach-O for all", "darwin_all", universal, nil, []string{"is Mach-O for amd64 and arm64, but no client uses the platform darwin_all; publish the zip once for each architecture, such as darwin_arm64"}},
		{"Mach-O library", "darwin_arm64", machoFile(binary.LittleEndian, macho.Magic64, macho.CpuArm64, macho.TypeDylib), []string{"a Mach-O file of type Dylib"}, nil},
		{"Mach-O in big-endian order", "darwin_arm64", machoFile(binary.BigEndian, macho.Magic32, macho.CpuPpc, macho.TypeExec), []string{"is Mach-O for CpuPpc, not for arm64"}, nil},
		{"Mach-O truncated", "darwin_arm64", macho64(macho.CpuArm64)[:27], []string{"has a truncated Mach-O header"}, nil},
		{"Mach-O with an architecture missing", "darwin_arm64", fatFile(3, macho.CpuAmd64, macho.CpuArm64), []string{"has a truncated Mach-O header"}, nil},
		{"Mach-O for no architecture", "darwin_arm64", fatFile(0), nil, []string{"neither a binary nor a script"}},
		{"a Java class", "darwin_arm64", "\xca\xfe\xba\xbe\x00\x00\x00\x2d\x00\x10", nil, []string{"neither a binary nor a script"}},
		{"four bytes of a Mach-O file", "darwin_arm64", "\xca\xfe\xba\xbe", nil, []string{"neither a binary nor a script"}},

		{"PE after a long stub", "windows_amd64", peFile(pe.IMAGE_FILE_MACHINE_AMD64, exe, 4096), nil, nil},
		{"PE of old ARM", "windows_arm", pe64(pe.IMAGE_FILE_MACHINE_ARM), nil, nil},
		{"PE object", "windows_amd64", peFile(pe.IMAGE_FILE_MACHINE_AMD64, 0, 128), []string{"an object file or a library"}, nil},
		{"PE for an architecture unknown to Go", "windows_amd64", pe64(pe.IMAGE_FILE_MACHINE_IA64), []string{"is PE for machine 0x0200, not for amd64"}, nil},
		{"PE header too far away", "windows_amd64", peFile(pe.IMAGE_FILE_MACHINE_AMD64, exe, 64<<10), []string{"but no PE header within 65536 bytes"}, nil},
		{"PE without a header", "windows_amd64", "MZ" + strings.Repeat("\xff", 100), []string{"no PE header within"}, nil},
		{"DOS program", "windows_amd64", "MZ" + strings.Repeat("\x00", 100), []string{"no PE header within"}, nil},
		{"PE truncated", "windows_amd64", "MZ", []string{"no PE header within"}, nil},
		{"PE truncated in the header", "linux_amd64", "MZ", []string{"is PE; linux_amd64 requires ELF"}, nil},
	}
	for _, test := range tests {
		t.Run(test.test, func(t *testing.T) {
			t.Parallel()
			report, err := checkPackage(t, named(t, test.content), test.platform)
			compare(t, "problems", problems(t, err), test.problems)
			compare(t, "warnings", report.Warnings, test.warnings)
		})
	}
}
