package packagezip_test

import (
	"bytes"
	"debug/macho"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zip"

	"github.com/tofu-oci/tofu-oci/internal/packagezip"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// FuzzCheck checks that Check never panics and returns either an executable or an
// error.
func FuzzCheck(f *testing.F) {
	for p, header := range natives() {
		f.Add(packageOf(f, file{name: "terraform-provider-x", content: header}), p)
	}
	f.Add(packageOf(f, file{name: "terraform-provider-x_v1", content: fatFile(2, macho.CpuAmd64, macho.CpuArm64)}), "darwin_arm64")
	f.Add(packageOf(f, file{name: "terraform-provider-x.exe", content: peFile(0, 0, 64)[:66]}), "windows_amd64")
	f.Add(packageOf(f, file{name: "terraform-provider-y", content: "#!/bin/sh\r\n"}, file{name: "a/"}), "linux_amd64")
	f.Add([]byte("PK\x05\x06"), "linux_amd64")

	f.Fuzz(func(t *testing.T, data []byte, text string) {
		p, err := provider.ParsePlatform(text)
		if err != nil {
			return
		}
		checkSound(t, data, p)
	})
}

// FuzzCheckExecutable varies the executable's content. The executable's checksum is not
// verified.
func FuzzCheckExecutable(f *testing.F) {
	for p, header := range natives() {
		f.Add(header, p)
	}
	f.Add(fatFile(2, macho.CpuAmd64, macho.CpuArm64), "darwin_arm64")
	f.Add("#!/bin/sh\r\n", "windows_amd64")

	f.Fuzz(func(t *testing.T, content, text string) {
		p, err := provider.ParsePlatform(text)
		if err != nil {
			return
		}
		stored := func(h *zip.FileHeader) { h.Method = zip.Store }
		checkSound(t, packageOf(t, file{name: "terraform-provider-x", content: content, header: stored}), p)
	})
}

func checkSound(t *testing.T, data []byte, p provider.Platform) {
	t.Helper()
	report, err := packagezip.Check(bytes.NewReader(data), int64(len(data)), "x", p)
	var refused *packagezip.CheckError
	switch {
	case err == nil && report.Executable == "":
		t.Fatal("neither an executable nor an error")
	case err != nil && (!errors.As(err, &refused) || len(refused.Problems) == 0):
		t.Fatalf("error %v without a problem", err)
	case err != nil && slices.ContainsFunc(refused.Problems, func(s string) bool { return s == "" || strings.Contains(s, "\n") }):
		t.Fatalf("problems that are not one line each: %q", refused.Problems)
	}
}
