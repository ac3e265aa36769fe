package provider

import (
	"cmp"
	"runtime"
	"slices"
	"strings"
)

// Platform is an operating system and an architecture, with Go's names, such as linux
// and amd64.
type Platform struct {
	OS, Arch string
}

// CurrentPlatform returns the platform of this machine.
func CurrentPlatform() Platform {
	return Platform{OS: runtime.GOOS, Arch: runtime.GOARCH}
}

// ParsePlatform parses "os_arch", where both parts consist of lower-case letters and
// digits. Errors are of type *[SyntaxError].
func ParsePlatform(s string) (Platform, error) {
	fail := func(offset int, problem string) (Platform, error) {
		return Platform{}, &SyntaxError{What: "platform", Input: s, Offset: offset, Problem: problem}
	}
	os, arch, found := strings.Cut(s, "_")
	if !found {
		return fail(len(s), "must be OS_ARCH, such as linux_amd64")
	}
	for i, r := range s {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && i != len(os) {
			return fail(i, "must be OS_ARCH in lower-case letters and digits, such as linux_amd64")
		}
	}
	if os == "" || arch == "" {
		return fail(0, "must contain both an operating system and an architecture, such as linux_amd64")
	}
	return Platform{OS: os, Arch: arch}, nil
}

// String returns "os_arch". For the zero value, which represents a module, it returns
// "module".
func (p Platform) String() string {
	if p == (Platform{}) {
		return "module"
	}
	return p.OS + "_" + p.Arch
}

// MarshalText returns the same text as String.
func (p Platform) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// Compare orders platforms by operating system and architecture.
func (p Platform) Compare(q Platform) int {
	return cmp.Or(cmp.Compare(p.OS, q.OS), cmp.Compare(p.Arch, q.Arch))
}

// SortPlatforms returns the platforms in sorted order, without duplicates.
func SortPlatforms(ps []Platform) []Platform { return slices.Compact(sorted(ps, Platform.Compare)) }
