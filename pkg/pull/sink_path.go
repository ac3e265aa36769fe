package pull

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// mirrorPath returns DIR/HOST/NAMESPACE/TYPE/rest in the form of OpenTofu's
// filesystem_mirror and plugin cache. The host is in Unicode, and its port follows a
// colon. See PackedFilePathForPackage and UnpackedDirectoryPathForPackage in OpenTofu's
// internal/getproviders.
//
// Windows doesn't allow colons in file names, and OpenTofu has no alternative form.
// Therefore, mirrorPath returns an error for hosts with a port on Windows.
func mirrorPath(dir string, a provider.Address, rest string) (string, error) {
	local, err := filepath.Localize(path.Join(a.String(), rest))
	if err != nil {
		return "", fmt.Errorf("the layout requires the path %s, which this system does not support: %w", a, err)
	}
	return filepath.Join(dir, local), nil
}

// networkPath returns DIR/HOST/NAMESPACE/TYPE/rest in the form that clients request
// from a network mirror, with the host in Punycode. See AvailableVersions in OpenTofu's
// internal/getproviders/http_mirror_source.go. In contrast, "tofu providers mirror"
// 1.12 writes hosts in Unicode, so clients don't find the files. For ASCII hosts, the
// two forms are equal.
func networkPath(dir string, a provider.Address, rest string) (string, error) {
	if strings.Contains(string(a.Host), ":") {
		return "", ErrPort
	}
	local, err := filepath.Localize(path.Join(a.ASCII(), rest))
	if err != nil {
		return "", fmt.Errorf("the layout requires the path %s, which this system does not support: %w", a, err)
	}
	return filepath.Join(dir, local), nil
}

// ErrPort is returned if a provider can't be in a network mirror because its host has a
// port. OpenTofu and Terraform would interpret the requested path "host:8443/…" as a
// URL with a scheme.
var ErrPort = provider.Errorf(provider.Misuse, "hosts with a port are not supported in network mirrors")
