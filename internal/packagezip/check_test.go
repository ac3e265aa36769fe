package packagezip_test

import (
	"debug/macho"
	"debug/pe"
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/packagezip"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// compare checks that got contains exactly one sentence for each string in want, and
// that each sentence contains its string.
func compare(t *testing.T, what string, got, want []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d, want %d:\n%s", what, len(got), len(want), strings.Join(got, "\n"))
		return
	}
	for i := range want {
		if !strings.Contains(got[i], want[i]) {
			t.Errorf("%s: %q, want %q", what, got[i], want[i])
		}
	}
}

func problems(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	var refused *packagezip.CheckError
	if !errors.As(err, &refused) {
		t.Fatalf("got %v, want a *CheckError", err)
	}
	if refused.Error() != strings.Join(refused.Problems, "\n") {
		t.Errorf("the text %q is not one line for each of %q", refused.Error(), refused.Problems)
	}
	return refused.Problems
}

func TestCheck(t *testing.T) {
	t.Parallel()
	const fat, unix, ntfs = 0, 3, 10
	linux, win := elfFile{}.String(), pe64(pe.IMAGE_FILE_MACHINE_AMD64)
	dll := peFile(pe.IMAGE_FILE_MACHINE_AMD64, pe.IMAGE_FILE_EXECUTABLE_IMAGE|pe.IMAGE_FILE_DLL, 128)
	const name = "terraform-provider-x"
	tests := []struct {
		test       string
		platform   string
		files      []file
		executable string
		problems   []string
		warnings   []string
	}{
		{"a binary and other files", "linux_amd64", []file{{name: "LICENSE", header: mode(0o644)}, {name: name + "_v1.0.0", content: linux}, {name: "lib/"}, {name: "lib/terraform-provider-x", content: "?"}}, name + "_v1.0.0", nil, nil},
		{"a script", "linux_amd64", []file{{name: name, content: "#!/usr/bin/env python3\n"}, {name: "lib/x.py"}}, name, nil, nil},
		{"a script of one line", "darwin_arm64", []file{{name: name, content: "#!/bin/true"}}, name, nil, nil},
		{"several", "linux_amd64", []file{{name: name + "_v2", content: linux}, {name: name + ".sig", content: "text"}, {name: name + "_v10", content: linux}}, name + ".sig", nil, []string{
			`starts "terraform-provider-x.sig", which is first in lexical order, and ignores "terraform-provider-x_v10", "terraform-provider-x_v2"`,
			"neither a binary nor a script with a #! line",
		}},
		{"text", "linux_amd64", []file{{name: name, content: "echo hello\n"}}, name, nil, []string{"neither a binary nor a script with a #! line"}},
		{"an empty executable", "linux_amd64", []file{{name: name}}, name, []string{"is empty"}, nil},
		{"carriage return", "linux_amd64", []file{{name: name, content: "#!/bin/sh\r\necho\n"}}, name, nil, []string{"carriage return"}},
		{"carriage return further down", "linux_amd64", []file{{name: name, content: "#!/bin/sh\necho\r\n"}}, name, nil, nil},

		{"not executable", "linux_amd64", []file{{name: name, content: linux, header: mode(0o644)}}, name, []string{"is not executable (mode 0644); OpenTofu would"}, nil},
		{"all problems at once", "linux_amd64", []file{{name: name, content: macho64(macho.CpuArm64), header: mode(0o600)}}, name, []string{"is not executable (mode 0600)", "is Mach-O for arm64; linux_amd64 requires ELF"}, nil},
		{"an irrelevant mode", "windows_amd64", []file{{name: name + ".exe", content: win, header: mode(0o644)}}, name + ".exe", nil, nil},
		{"zipped on Windows", "linux_amd64", []file{{name: name, content: linux, header: made(ntfs, 0x20)}}, name, []string{"has no Unix mode"}, nil},
		{"zipped without modes", "linux_amd64", []file{{name: name, content: linux, header: made(unix, 0)}}, name, []string{"has no Unix mode"}, nil},
		{"zipped on Windows for Windows", "windows_amd64", []file{{name: name + ".EXE", content: win, header: made(fat, 0x20)}}, name + ".EXE", nil, nil},

		{"Windows without .exe", "windows_amd64", []file{{name: name + "_v1.0.0", content: win}}, name + "_v1.0.0", nil, []string{"does not end in .exe"}},
		{"Windows batch", "windows_amd64", []file{{name: name + ".bat", content: "@echo off\r\n"}}, name + ".bat", nil, nil},
		{"Windows script", "windows_amd64", []file{{name: name + ".exe", content: "#!/bin/sh\r\n"}}, name + ".exe", nil, []string{"which Windows cannot run"}},
		{"Windows library", "windows_amd64", []file{{name: name + ".exe", content: dll}}, name + ".exe", []string{"an object file or a library"}, nil},
		{"a batch file elsewhere", "linux_amd64", []file{{name: name + ".bat", content: "@echo off\r\n"}}, name + ".bat", nil, []string{"neither a binary nor"}},
	}
	for _, test := range tests {
		t.Run(test.test, func(t *testing.T) {
			t.Parallel()
			report, err := checkPackage(t, packageOf(t, test.files...), test.platform)
			if report.Executable != test.executable {
				t.Errorf("executable %q, want %q", report.Executable, test.executable)
			}
			compare(t, "problems", problems(t, err), test.problems)
			compare(t, "warnings", report.Warnings, test.warnings)
		})
	}
}

func TestCheckFindsNoExecutable(t *testing.T) {
	t.Parallel()
	tests := []struct {
		test  string
		names []string
		near  string // the part of the error about files with similar names
	}{
		{"unrelated files", []string{"README.md", "x", "terraform-provider/x"}, ""},
		{"in a directory", []string{"bin/terraform-provider-x_v1"}, `; "bin/terraform-provider-x_v1" is in a directory`},
		{"other case", []string{"Terraform-Provider-X.exe"}, `; "Terraform-Provider-X.exe" differs in case`},
		{"other types", []string{"terraform-provider-x-y", "terraform-provider-xy_v1"}, `; "terraform-provider-x-y" is for a different provider type; "terraform-provider-xy_v1" is for a different provider type`},
		{"a directory with the name", []string{"terraform-provider-x/"}, ""},
		{
			"many", []string{"terraform-provider-a", "terraform-provider-b", "terraform-provider-c", "terraform-provider-d", "terraform-provider-e", "terraform-provider-f"},
			`; "terraform-provider-a" is for a different provider type; "terraform-provider-b" is for a different provider type; "terraform-provider-c" is for a different provider type; "terraform-provider-d" is for a different provider type; "terraform-provider-e" is for a different provider type`,
		},
	}
	for _, test := range tests {
		t.Run(test.test, func(t *testing.T) {
			t.Parallel()
			var files []file
			for _, name := range test.names {
				files = append(files, file{name: name})
			}
			report, err := checkPackage(t, packageOf(t, files...), "linux_amd64")
			want := []string{"no executable that OpenTofu would find: expected a file named terraform-provider-x, terraform-provider-x_*, or terraform-provider-x.* at the top level of the archive" + test.near}
			if diff := cmp.Diff(want, problems(t, err)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(packagezip.Report{}, report); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCheckAcceptsRealBinary checks a package that contains the running test binary,
// which exists on every system.
func TestCheckAcceptsRealBinary(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	name := "terraform-provider-x_v1.0.0"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	data := packageOf(t, file{name: name, content: string(content)})
	report, err := checkPackage(t, data, provider.CurrentPlatform().String())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(packagezip.Report{Executable: name}, report); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if _, err := checkPackage(t, data, runtime.GOOS+"_"+otherArch()); len(problems(t, err)) != 1 {
		t.Errorf("for another architecture: %v", err)
	}
}

func otherArch() string {
	if runtime.GOARCH == "amd64" {
		return "arm64"
	}
	return "amd64"
}
