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

// overlays are what the standard library is told about Wine 8, so that it sees
// answers that a Windows gives.
var overlays = []struct{ file, old, new string }{
	{
		// "Not implemented" is what Wine says to deleting as POSIX does, and older systems
		// say "not supported": then files are deleted in the old way.
		"internal/syscall/windows/at_windows.go",
		"\n\t\tSTATUS_NOT_SUPPORTED: ", "\n\t\tNTStatus(0xC0000002), STATUS_NOT_SUPPORTED: ",
	},
	{
		// Wine makes no symbolic link and says that it did. So the user is one without the
		// right to, as most are.
		"syscall/zsyscall_windows.go",
		"\tr1, _, e1 := SyscallN(procCreateSymbolicLinkW.Addr(), ", "\tif true {\n\t\treturn ERROR_PRIVILEGE_NOT_HELD\n\t}\n\tr1, _, e1 := SyscallN(procCreateSymbolicLinkW.Addr(), ",
	},
}

// writeOverlay writes the overlay, and gives the file for go's flag -overlay.
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
			return "", fmt.Errorf("%s has no longer, or more than once, %q: see how Go does it now, and change overlays", original, o.old)
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
