package text

import "strings"

// These maps map common names for operating systems and architectures to GOOS and
// GOARCH values.
var (
	systems = map[string]string{
		"linux": "linux", "darwin": "darwin", "macos": "darwin", "mac": "darwin", "osx": "darwin", "windows": "windows", "win": "windows", "win64": "windows",
		"freebsd": "freebsd", "netbsd": "netbsd", "openbsd": "openbsd", "solaris": "solaris",
	}
	architectures = map[string]string{
		"amd64": "amd64", "x86_64": "amd64", "x86-64": "amd64", "x64": "amd64", "64bit": "amd64", "arm64": "arm64", "aarch64": "arm64", "armv8": "arm64",
		"386": "386", "i386": "386", "i686": "386", "x86": "386", "32bit": "386", "arm": "arm", "armv6": "arm", "armv7": "arm", "armhf": "arm",
		"amd64v1": "amd64", "amd64v2": "amd64", "amd64v3": "amd64", "amd64v4": "amd64", "arm64v8": "arm64", "armv5": "arm",
		"amd64_v1": "amd64", "amd64_v2": "amd64", "amd64_v3": "amd64", "amd64_v4": "amd64", "arm_5": "arm", "arm_6": "arm", "arm_7": "arm",
		"s390x": "s390x", "ppc64le": "ppc64le", "riscv64": "riscv64",
	}
)

// Platform returns GOOS and GOARCH for text with alternative names or a different
// separator, such as "Linux-x86_64", "macos/aarch64", or "linux/arm/v7".
func Platform(text string) (system, arch string, ok bool) {
	text = strings.ToLower(text)
	at := strings.IndexAny(text, "_-/. ")
	if at < 0 {
		return "", "", false
	}
	system, arch = systems[text[:at]], architectures[strings.ReplaceAll(text[at+1:], "/v", "v")]
	return system, arch, system != "" && arch != ""
}
