package pull

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// mirrorPath returns DIR/HOST/NAMESPACE/TYPE/rest, as OpenTofu's filesystem_mirror
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

// networkPath returns DIR/HOST/NAMESPACE/TYPE/rest, as clients ask a network mirror
// for it: with the host in Punycode. See AvailableVersions in OpenTofu's
// internal/getproviders/http_mirror_source.go. What "tofu providers mirror" 1.12
// writes has the host in Unicode, where no client finds it; all other hosts are
// spelled alike.
func networkPath(dir string, a provider.Address, rest string) (string, error) {
	if strings.Contains(string(a.Host), ":") {
		return "", ErrPort
	}
	local, err := filepath.Localize(path.Join(a.ASCII(), rest))
	if err != nil {
		return "", fmt.Errorf("%s can't be a path on this system, as this layout needs: %w", a, err)
	}
	return filepath.Join(dir, local), nil
}

// ErrPort says that a provider can't be in a network mirror, because the host of its
// address has a port: OpenTofu and Terraform take the "host:8443/…" that they would request
// for a URL with a scheme.
var ErrPort = provider.Errorf(provider.Misuse, "it can't be in a network mirror: its host has a port, and no client can ask for that")
