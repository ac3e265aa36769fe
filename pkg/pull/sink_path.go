package pull

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// mirrorPath returns DIR/HOST/NAMESPACE/TYPE/rest in the form of OpenTofu's
// filesystem_mirror and plugin cache: the host is in Unicode, with the port after a
// colon. See PackedFilePathForPackage and UnpackedDirectoryPathForPackage in OpenTofu's
// internal/getproviders.
//
// Windows does not allow colons in file names, and OpenTofu has no alternative form, so a
// host with a port is an error there.
func mirrorPath(dir string, a provider.Address, rest string) (string, error) {
	local, err := filepath.Localize(path.Join(a.String(), rest))
	if err != nil {
		return "", fmt.Errorf("%s cannot be a path on this system, as the layout requires: %w", a, err)
	}
	return filepath.Join(dir, local), nil
}

// networkPath returns DIR/HOST/NAMESPACE/TYPE/rest as clients request it from a network
// mirror: the host is in Punycode. See AvailableVersions in OpenTofu's
// internal/getproviders/http_mirror_source.go. In contrast, "tofu providers mirror" 1.12
// writes hosts in Unicode, where no client finds them. For ASCII hosts, both forms are
// equal.
func networkPath(dir string, a provider.Address, rest string) (string, error) {
	if strings.Contains(string(a.Host), ":") {
		return "", ErrPort
	}
	local, err := filepath.Localize(path.Join(a.ASCII(), rest))
	if err != nil {
		return "", fmt.Errorf("%s cannot be a path on this system, as the layout requires: %w", a, err)
	}
	return filepath.Join(dir, local), nil
}

// ErrPort is returned if a provider can't be in a network mirror, because its host has a
// port. OpenTofu and Terraform would interpret the "host:8443/…" that they request as a
// URL with a scheme.
var ErrPort = provider.Errorf(provider.Misuse, "hosts with a port are not supported in network mirrors")
