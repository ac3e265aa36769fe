package builddir

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// nearName matches file names that resemble OpenTofu's package names. Matching names
// can have different separators, different platform names, a "v" before the version, or
// no prefix.
var nearName = regexp.MustCompile(`^(.+?)[-_.]v?([0-9]+\.[0-9]+\.[0-9]+(?:-(?:alpha|beta|rc|pre|dev|snapshot)[0-9A-Za-z.]*)?)[-_.](.+)\.zip$`)

// SuggestName returns the conventional name of a file that looks like a package of the
// provider. ok is false if the file doesn't look like a package or already has this
// name.
func (s *Source) SuggestName(path string) (name string, ok bool) {
	base := filepath.Base(path)
	parts := nearName.FindStringSubmatch(strings.ToLower(base))
	if parts == nil {
		return "", false
	}
	typ := strings.ReplaceAll(parts[1], "_", "-")
	for _, beginning := range []string{"terraform-", "opentofu-", "tofu-", "provider-"} {
		typ = strings.TrimPrefix(typ, beginning)
	}
	v, err := provider.ParseVersion(parts[2])
	system, arch, known := text.Platform(parts[3])
	platform := provider.Platform{OS: system, Arch: arch}
	if !known {
		var platformErr error
		platform, platformErr = provider.ParsePlatform(parts[3])
		known = platformErr == nil
	}
	if typ != s.address.Type || err != nil || !known {
		return "", false
	}
	name = provider.Filename(s.address, v, platform)
	return name, name != base
}

// invalidName returns an error for a file that is not named like a package. The error
// suggests a name if possible.
func (s *Source) invalidName(path string) error {
	if name, ok := s.SuggestName(path); ok {
		return fmt.Errorf("%s is not named like a package; did you mean %s?", path, name)
	}
	return fmt.Errorf("%s is not named like a package: want %s", path, packageNames(s.address))
}

// noPackages returns an error for paths without packages. If a file looks like a
// package, the error suggests a name for it.
func (s *Source) noPackages(paths []string, rest []candidate) error {
	text := fmt.Sprintf("found no package in %s; looked for files named %s", strings.Join(paths, ", "), packageNames(s.address))
	for _, f := range rest {
		if name, ok := s.SuggestName(f.path); ok {
			return fmt.Errorf("%s; rename %s to %s?", text, f.path, name)
		}
	}
	return fmt.Errorf("%s", text)
}
