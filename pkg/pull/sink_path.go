package pull

import (
	"fmt"
	"path"
	"path/filepath"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// mirrorPath gives DIR/HOST/NAMESPACE/TYPE/rest, as OpenTofu's filesystem_mirror
// and plugin cache spell it: the host in Unicode, and its port after a colon.
// See PackedFilePathForPackage and UnpackedDirectoryPathForPackage in its
// internal/getproviders.
//
// Windows has no such file names as a port makes; OpenTofu has no other
// spelling, so that is an error.
func mirrorPath(dir string, a provider.Address, rest string) (string, error) {
	local, err := filepath.Localize(path.Join(a.String(), rest))
	if err != nil {
		return "", fmt.Errorf("%s can't be a path on this system, as this layout needs: %w", a, err)
	}
	return filepath.Join(dir, local), nil
}
