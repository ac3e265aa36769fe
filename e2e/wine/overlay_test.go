//go:build wine

package wine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// overlays lists changes to the standard library. With these changes, programs in Wine
// 8 receive the same error codes as on Windows.
var overlays = []struct{ file, old, new string }{
	{
		// For POSIX deletion, Wine reports "not implemented". Old versions of Windows
		// report "not supported", and Go then deletes the file with the older function.
		"internal/syscall/windows/at_windows.go",
		"\n\t\tSTATUS_NOT_SUPPORTED: ", "\n\t\tNTStatus(0xC0000002), STATUS_NOT_SUPPORTED: ",
	},
	{
		// When a program creates a symbolic link, Wine reports success but creates
		// nothing. With this change, the call fails because of a missing privilege, as
		// it does for most Windows users.
		"syscall/zsyscall_windows.go",
		"\tr1, _, e1 := SyscallN(procCreateSymbolicLinkW.Addr(), ", "\tif true {\n\t\treturn ERROR_PRIVILEGE_NOT_HELD\n\t}\n\tr1, _, e1 := SyscallN(procCreateSymbolicLinkW.Addr(), ",
	},
}

// writeOverlay writes the overlay and returns its path for go's -overlay flag.
func writeOverlay(ctx context.Context, dir string) (string, error) {
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOROOT: %w", err)
	}
	replace := map[string]string{}
	for _, o := range overlays {
		original := filepath.Join(strings.TrimSpace(string(root)), "src", filepath.FromSlash(o.file))
		text, err := os.ReadFile(original)
		if err != nil {
			return "", err
		}
		if strings.Count(string(text), o.old) != 1 {
			return "", fmt.Errorf("%s contains %q never or more than once; adapt overlays to this Go version", original, o.old)
		}
		replace[original] = filepath.Join(dir, filepath.Base(o.file))
		if err := os.WriteFile(replace[original], []byte(strings.Replace(string(text), o.old, o.new, 1)), 0o600); err != nil {
			return "", err
		}
	}
	config, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, config, 0o600)
}
