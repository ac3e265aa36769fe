package text

import (
	"strings"
	"unicode/utf8"
)

// IsDeviceName reports whether Windows reserves a name for a device, in any directory
// and with any extension. COM and LPT can also be followed by superscript digits. See
// https://learn.microsoft.com/windows/win32/fileio/naming-a-file.
func IsDeviceName(name string) bool {
	stem, _, _ := strings.Cut(name, ".")
	stem = strings.ToUpper(strings.TrimRight(stem, " "))
	switch stem {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$":
		return true
	}
	for _, port := range []string{"COM", "LPT"} {
		if number, found := strings.CutPrefix(stem, port); found {
			return utf8.RuneCountInString(number) == 1 && strings.ContainsAny(number, "0123456789¹²³")
		}
	}
	return false
}
