package text_test

import (
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/text"
)

func TestPlatform(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]string{
		"linux_amd64": "linux_amd64", "Linux_x86_64": "linux_amd64", "linux-amd64": "linux_amd64", "macOS/aarch64": "darwin_arm64",
		"linux/arm/v7": "linux_arm", "windows x64": "windows_amd64", "linux_armv6": "linux_arm",
		"linux_amd64v1": "linux_amd64", "linux_amd64_v3": "linux_amd64", "windows_arm64v8": "windows_arm64", "linux_arm_7": "linux_arm",
		"linux": "", "": "", "beos_amd64": "", "linux_z80": "", "_": "", "amd64_linux": "",
	} {
		system, arch, ok := text.Platform(written)
		if ok != (want != "") || ok && system+"_"+arch != want {
			t.Errorf("%q: %s_%s, %v, want %q", written, system, arch, ok, want)
		}
	}
}
