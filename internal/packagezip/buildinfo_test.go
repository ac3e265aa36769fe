package packagezip_test

import (
	"bytes"
	"debug/buildinfo"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/packagezip"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
)

const (
	modulesStart = "\x30\x77\xaf\x0c\x92\x74\x08\x02\x41\xe1\xc1\x07\xe6\xd6\x18\xe6"
	modulesEnd   = "\xf9\x32\x43\x31\x86\x18\x20\x72\x00\x82\x42\x10\x41\x16\xd8\xf2"
	modules      = "path\texample.com/x\nmod\texample.com/x\tv1.2.3\th1:a=\ndep\tgolang.org/x/mod\tv0.1.0\th1:b=\n" +
		"dep\texample.com/old\tv1.0.0\n=>\texample.com/fork\tv1.0.1\th1:c=\nbuild\t-ldflags=\"-s -w\"\nbuild\tvcs.revision=abc\n"
)

// header returns build information as written by the linker.
func header(version, modules string) []byte {
	b := append([]byte("\xff Go buildinf:\x08\x02"), make([]byte, 16)...)
	b = append(binary.AppendUvarint(b, uint64(len(version))), version...)
	b = append(binary.AppendUvarint(b, uint64(len(modules))), modules...)
	return append(b, make([]byte, 16-len(b)%16)...)
}

// valid returns the build information of a module.
func valid(version string) []byte { return header(version, modulesStart+modules+modulesEnd) }

// elfWithData returns an ELF file with read-only data at offset 4096, followed by writable
// data.
func elfWithData(t *testing.T, class elf.Class, order binary.ByteOrder, readOnly, writable []byte) []byte {
	t.Helper()
	const at = 4096
	b := append(make([]byte, at), readOnly...)
	b = append(b, make([]byte, (16-len(b)%16)%16)...)
	ident := [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(class), byte(elf.ELFDATA2LSB), 1}
	if order == binary.BigEndian {
		ident[elf.EI_DATA] = byte(elf.ELFDATA2MSB)
	}
	var head bytes.Buffer
	var err error
	if class == elf.ELFCLASS64 {
		err = binary.Write(&head, order, struct {
			elf.Header64
			Programs [2]elf.Prog64
		}{
			elf.Header64{Ident: ident, Type: uint16(elf.ET_EXEC), Phoff: 64, Phentsize: 56, Phnum: 2},
			[2]elf.Prog64{
				{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R), Off: 0, Filesz: uint64(len(b))},
				{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_W), Off: uint64(len(b)), Filesz: uint64(len(writable))},
			},
		})
	} else {
		err = binary.Write(&head, order, struct {
			elf.Header32
			Programs [2]elf.Prog32
		}{
			elf.Header32{Ident: ident, Type: uint16(elf.ET_EXEC), Phoff: 52, Phentsize: 32, Phnum: 2},
			[2]elf.Prog32{
				{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R), Off: 0, Filesz: uint32(len(b))},
				{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_W), Off: uint32(len(b)), Filesz: uint32(len(writable))},
			},
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	copy(b, head.Bytes())
	return slices.Concat(b, writable)
}

// versionOf returns the Go version that is found, or "none".
func versionOf(info *debug.BuildInfo) string {
	if info == nil {
		return "none"
	}
	return info.GoVersion
}

// TestBuildInfoOfTestBinary compares the information of the test's executable with the
// standard library.
func TestBuildInfoOfTestBinary(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	want, err := buildinfo.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	data := deflated(t,
		entry{name: "LICENSE", content: string(valid("go1.1"))},
		entry{name: "sub/terraform-provider-x", content: string(valid("go1.2"))},
		entry{name: "terraform-provider-xy", content: string(valid("go1.3"))},
		entry{name: "terraform-provider-x_v2", content: string(valid("go1.4"))},
		entry{name: "terraform-provider-x_v1", content: string(content)},
		entry{name: "terraform-provider-x_v3", content: string(valid("go1.5"))},
	)
	got, err := packagezip.HashStream(t.Context(), bytes.NewReader(data), packagezip.WithBuildInfo("x"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.BuildInfo); diff != "" {
		t.Errorf("(-debug/buildinfo +packagezip):\n%s", diff)
	}
	archive, err := packagezip.Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	random, err := archive.Contents(t.Context(), packagezip.WithBuildInfo("x"))
	if diff := cmp.Diff(got, random); diff != "" || err != nil {
		t.Errorf("with random access: %v\n%s", err, diff)
	}
	if plain, err := archive.Contents(t.Context()); err != nil || plain.BuildInfo != nil || plain.H1 != got.H1 {
		t.Errorf("without the option: %+v, %v", plain, err)
	}
}

// TestBuildInfoOfExecutables checks where the build information of each format is found.
func TestBuildInfoOfExecutables(t *testing.T) {
	t.Parallel()
	shifted := append(make([]byte, 8), valid("go1.2")...)
	magic := []byte("\xff Go buildinf:")
	noise := bytes.Repeat(magic, 50)
	tests := map[string]struct {
		file []byte
		want string
	}{
		"unknown format":               {slices.Concat(make([]byte, 64), valid("go1.20")), "go1.20"},
		"64 bits, with another in it":  {elfWithData(t, elf.ELFCLASS64, binary.LittleEndian, valid("go1.18"), valid("go1.20")), "go1.20"},
		"64 bits, with another behind": {append(elfWithData(t, elf.ELFCLASS64, binary.LittleEndian, nil, slices.Concat(make([]byte, 32), valid("go1.20"))), valid("go1.18")...), "go1.20"},
		"64 bits, big-endian":          {elfWithData(t, elf.ELFCLASS64, binary.BigEndian, valid("go1.18"), valid("go1.20")), "go1.20"},
		"32 bits":                      {elfWithData(t, elf.ELFCLASS32, binary.LittleEndian, valid("go1.18"), valid("go1.20")), "go1.20"},
		"32 bits, big-endian":          {elfWithData(t, elf.ELFCLASS32, binary.BigEndian, valid("go1.18"), valid("go1.20")), "go1.20"},
		"only read-only":               {elfWithData(t, elf.ELFCLASS64, binary.LittleEndian, valid("go1.18"), make([]byte, 64)), "none"},
		"not aligned":                  {shifted, "none"},
		"without modules":              {header("go1.20", ""), "go1.20"},
		"before Go 1.18":               {slices.Concat(magic, []byte("\x08\x00"), bytes.Repeat([]byte{1}, 500)), "none"},
		"the magic alone":              {slices.Concat(magic, make([]byte, 18), valid("go1.20")), "go1.20"},
		"the magic many times":         {slices.Concat(noise, make([]byte, 16-len(noise)%16), valid("go1.20")), "go1.20"},
		"a header in a header":         {slices.Concat(valid("go1.18")[:32], valid("go1.20")), "go1.20"},
		"a header in a version":        {slices.Concat(valid("go1.18")[:33], make([]byte, 15), valid("go1.20")), "go1.20"},
		"a header in modules":          {slices.Concat(header("go1.18", modulesStart+strings.Repeat("x", 900))[:512], valid("go1.20")), "go1.20"},
		"a damaged end":                {slices.Concat(header("go1.18", modulesStart+modules+modulesStart), valid("go1.20")), "go1.20"},
		"a damaged start":              {slices.Concat(header("go1.18", modulesEnd+modules+modulesEnd), valid("go1.20")), "go1.20"},
		"damaged modules":              {slices.Concat(header("go1.18", modulesStart+"dep\tx\n"+modulesEnd), valid("go1.20")), "go1.20"},
		"a control character":          {slices.Concat(header("go1.18", modulesStart+"path\t\x1b[2J\n"+modulesEnd), valid("go1.20")), "go1.20"},
		"a wrong length":               {slices.Concat(valid("go1.18")[:39], []byte("\xff\xff\xff\xff\xff\xff\xff\xff\x01"), valid("go1.20")), "go1.20"},
		"an overlong length":           {slices.Concat(valid("go1.18")[:39], bytes.Repeat([]byte{0xff}, 25), valid("go1.20")), "go1.20"},
		"too many modules":             {slices.Concat(header("go1.18", modulesStart+strings.Repeat("dep\tx\tv1\n", 20_000)+modulesEnd), valid("go1.20")), "go1.20"},
		"an incomplete header":         {valid("go1.20")[:100], "none"},
		"an ELF header only":           {elfWithData(t, elf.ELFCLASS64, binary.LittleEndian, nil, nil)[:20], "none"},
		"a DOS header only":            {append([]byte("MZ"), make([]byte, 62)...), "none"},
		"many Mach-O commands":         {append(binary.LittleEndian.AppendUint32(nil, 0xfeedfacf), bytes.Repeat([]byte{0xff}, 90)...), "none"},
		"nothing":                      {nil, "none"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := versionOf(packagezip.ScanBuildInfo(test.file)); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			if got := versionOf(packagezip.ScanBuildInfo(test.file, 64<<10, 1<<20)); got != test.want {
				t.Errorf("in parts: got %s, want %s", got, test.want)
			}
		})
	}
}

// TestBuildInfoInParts splits a file at every byte.
func TestBuildInfoInParts(t *testing.T) {
	t.Parallel()
	file := slices.Concat(make([]byte, 48), valid("go1.18")[:64], valid("go1.20"), make([]byte, 40))
	want := packagezip.ScanBuildInfo(file)
	if want == nil || want.GoVersion != "go1.20" || len(want.Deps) != 2 || want.Deps[1].Replace.Path != "example.com/fork" {
		t.Fatalf("got %+v", want)
	}
	for i := range file {
		if diff := cmp.Diff(want, packagezip.ScanBuildInfo(file, i)); diff != "" {
			t.Errorf("split at %d (-want +got):\n%s", i, diff)
		}
		if diff := cmp.Diff(want, packagezip.ScanBuildInfo(file, slices.Repeat([]int{i%33 + 1}, len(file))...)); diff != "" {
			t.Errorf("in parts of %d (-want +got):\n%s", i%33+1, diff)
		}
	}
}

// TestHostileBuildInfo checks that neither lengths nor many incomplete headers require
// much memory or time.
func TestHostileBuildInfo(t *testing.T) { //nolint:paralleltest // measures memory
	patience.SkipIfShort(t)
	long := header("go1.18", modulesStart+"path\t"+strings.Repeat("x", 1<<20-40))
	for name, unit := range map[string][]byte{
		"a huge length":   append(valid("go1.18")[:39], "\xff\xff\xff\xff\xff\xff\xff\xff\x7f"...),
		"long text":       long,
		"headers in text": append(long[:128:128], make([]byte, 16)...),
		"starts of text":  long[:64],
	} {
		t.Run(name, func(t *testing.T) {
			unit = append(unit, make([]byte, (16-len(unit)%16)%16)...)
			file := bytes.Repeat(unit, 64<<20/len(unit))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got, checked := packagezip.CountBuildInfo(file, slices.Repeat([]int{256 << 10}, 256)...)
			if got != nil {
				t.Errorf("got %+v", got)
			}
			runtime.ReadMemStats(&after)
			// Each part of an incomplete header of 1 MiB is checked again with the next part.
			if used := after.TotalAlloc - before.TotalAlloc; checked > 4*uint64(len(file)) || used > 512<<20 {
				t.Errorf("checked %d bytes and allocated %d bytes", checked, used)
			}
		})
	}
}

func FuzzBuildInfo(f *testing.F) {
	f.Add(valid("go1.20"), 16, 3)
	f.Add(header("go1.20", ""), 0, 33)
	f.Add(slices.Concat(valid("go1.18")[:64], valid("go1.20")), 64, 20)
	f.Add([]byte("\x7fELF\x02\x01\x01"), 7, 7)
	f.Add(append(binary.LittleEndian.AppendUint32(nil, 0xfeedfacf), make([]byte, 60)...), 7, 7)
	f.Add(append([]byte("MZ"), make([]byte, 90)...), 7, 7)
	f.Fuzz(func(t *testing.T, file []byte, first, second int) {
		want := packagezip.ScanBuildInfo(file)
		if want != nil && (want.GoVersion == "" || len(fmt.Sprint(want)) > 8*len(file)) {
			t.Errorf("found %+v in %d bytes", want, len(file))
		}
		// The headers of the executable must be in the first part.
		if first = max(first, 4096); first < len(file) && second >= 0 {
			if diff := cmp.Diff(want, packagezip.ScanBuildInfo(file, first, second)); diff != "" {
				t.Errorf("in parts (-want +got):\n%s", diff)
			}
		}
	})
}

// BenchmarkBuildInfo scans 256 MiB in the worst case: the file's format is unknown, and
// the file has no build information.
func BenchmarkBuildInfo(b *testing.B) {
	file := make([]byte, 256<<20)
	for i := range file {
		file[i] = byte(i * i >> 8)
	}
	parts := slices.Repeat([]int{256 << 10}, len(file)/(256<<10)-1)
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		if packagezip.ScanBuildInfo(file, parts...) != nil {
			b.Fatal("found build information")
		}
	}
}
