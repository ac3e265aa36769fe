package builddir

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// nearName is how builds name packages that follow another rule: the parts in
// their order, with other separators, other words for a platform, a "v" before the
// version, or without the beginning.
var nearName = regexp.MustCompile(`^(.+?)[-_.]v?([0-9]+\.[0-9]+\.[0-9]+(?:-(?:alpha|beta|rc|pre|dev|snapshot)[0-9A-Za-z.]*)?)[-_.](.+)\.zip$`)

// Meant returns the name that a file would have as a package of the provider, when
// it is named almost so; ok is false for all other files, and for a file that has
// that name.
func (s *Source) Meant(path string) (name string, ok bool) {
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

// notNamed says that a file is not named like a package, and how it would be.
func (s *Source) notNamed(path string) error {
	if name, ok := s.Meant(path); ok {
		return fmt.Errorf("%s is not named like a package; did you mean %s?", path, name)
	}
	return fmt.Errorf("%s is not named like a package: %s", path, packageNames(s.address))
}

// foundNone says that there is no package, and what may have been meant for one.
func (s *Source) foundNone(paths []string, rest []candidate) error {
	text := fmt.Sprintf("found no package in %s; looked for files named %s", strings.Join(paths, ", "), packageNames(s.address))
	for _, f := range rest {
		if name, ok := s.Meant(f.path); ok {
			return fmt.Errorf("%s; is %s meant to be %s?", text, f.path, name)
		}
	}
	return fmt.Errorf("%s", text)
}
