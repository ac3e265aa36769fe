//go:build !windows

package packagezip_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zip"

	"github.com/tofu-oci/tofu-oci/internal/packagezip"
)

func TestExecutableBits(t *testing.T) {
	t.Parallel()
	made := func(system uint16, attrs uint32) func(*zip.FileHeader) {
		return func(h *zip.FileHeader) {
			h.CreatorVersion = system<<8 | 20
			h.ExternalAttrs = attrs
		}
	}
	const fat, unix, ntfs, darwin = 0, 3, 10, 19
	tests := []struct {
		name   string
		header func(*zip.FileHeader)
		want   bool
	}{
		{"all-x", mode(0o755), true},
		{"owner-x", mode(0o700), true},
		{"group-x", mode(0o010), true},
		{"setuid", mode(fs.ModeSetuid | 0o4755), true},
		{"darwin", made(darwin, 0o100755<<16), true},
		{"plain", mode(0o644), false},
		{"terraform-provider-plain", mode(0o644), false},
		{"terraform-provider-fat", made(fat, 0), true},
		{"terraform-provider-fat.exe", made(fat, 0x20), true},
		{"terraform-provider-ntfs", made(ntfs, 0x20), true},
		{"terraform-provider-no-mode", made(unix, 0), true},
		{"readme-fat", made(fat, 0), false},
		{"docs/terraform-provider-fat", made(fat, 0), false},
	}
	var entries []entry
	for _, test := range tests {
		entries = append(entries, entry{name: test.name, header: test.header})
	}
	dir := t.TempDir()
	if err := mustOpen(t, archive(t, entries...)).Unpack(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	for _, test := range tests {
		fi, err := os.Stat(filepath.Join(dir, test.name))
		if err != nil {
			t.Fatal(err)
		}
		if got := fi.Mode()&0o100 != 0; got != test.want {
			t.Errorf("%s is unpacked with mode %v", test.name, fi.Mode())
		}
		if special := fi.Mode() & (fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky); special != 0 {
			t.Errorf("%s keeps the special mode %v", test.name, special)
		}
	}
}

// TestUmask checks that the umask applies to modes. The umask is a property of the
// process, so the test starts itself in a separate process. An environment variable
// specifies the directory.
func TestUmask(t *testing.T) {
	t.Parallel()
	const variable = "PACKAGEZIP_TEST_UMASK"
	if dir := os.Getenv(variable); dir != "" {
		if _, err := packagezip.UnpackStream(t.Context(), &trickle{data: plain().zip()}, dir); err != nil {
			t.Fatal(err)
		}
		return
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `umask 027 && exec "$0" -test.run '^TestUmask$'`, os.Args[0])
	cmd.Env = append(os.Environ(), variable+"="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	got := map[string]fs.FileMode{}
	for name := range contents(t, dir) {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		got[name] = info.Mode().Perm()
	}
	want := map[string]fs.FileMode{"terraform-provider-x_v1.0.0": 0o750, "docs/": 0o750, "docs/index.md": 0o640, "LICENSE": 0o640}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("modes (-want +got):\n%s", diff)
	}
}
