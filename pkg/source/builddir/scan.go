package builddir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// dirFile is a file that was found.
type dirFile struct {
	path, name string
}

// dirRelease is what was found of one version.
type dirRelease struct {
	packages map[provider.Platform]dirPackage
	// manifest has an empty path when there is none.
	manifest dirFile
	// sums, signatures and referrers may lie in several directories.
	sums, signatures, referrers []dirFile
}

// dirPackage is a zip and what belongs to it alone.
type dirPackage struct {
	zip      dirFile
	evidence []dirFile
}

func (r *dirRelease) platforms() []provider.Platform {
	var ps []provider.Platform
	for p := range r.packages {
		ps = append(ps, p)
	}
	return provider.SortPlatforms(ps)
}

// New finds the releases of a provider in directories and among zips. All
// that is wrong with the names is reported at once.
func New(a provider.Address, paths ...string) (*Source, error) {
	s := &Source{address: a, releases: map[provider.Version]*dirRelease{}}
	files, err := listFiles(paths)
	if err != nil {
		return nil, err
	}
	// 1. The zips say which releases there are.
	var problems []error
	var rest []candidate
	for _, f := range files {
		belongs, err := s.addZip(f.dirFile)
		switch {
		case err != nil:
			problems = append(problems, err)
		case !belongs && f.named:
			problems = append(problems, s.notNamed(f.path))
		case !belongs:
			rest = append(rest, f)
		}
	}
	if len(s.releases) == 0 && len(problems) == 0 {
		problems = append(problems, s.foundNone(paths, rest))
	}
	// 2. Everything else is evidence of one of them, or does not belong.
	for _, f := range rest {
		belongs, err := s.addEvidence(f.dirFile)
		if err != nil {
			problems = append(problems, err)
		} else if !belongs && !f.beside {
			s.ignored = append(s.ignored, f.path)
		}
	}
	slices.Sort(s.ignored)
	return s, errors.Join(problems...)
}

func packageNames(a provider.Address) string {
	return fmt.Sprintf("terraform-provider-%s_VERSION_OS_ARCH.zip", a.Type)
}

// candidate is a file to look at. Named ones were asked for by name; those
// beside them are looked at for evidence only.
type candidate struct {
	dirFile
	named, beside bool
}

// listFiles returns the files in the directories, the zips that are named, and
// the files beside those that could be their evidence.
func listFiles(paths []string) ([]candidate, error) {
	var all []candidate
	seen := map[string]bool{}
	add := func(path string, named, beside bool) {
		if path = filepath.Clean(path); !seen[path] {
			seen[path] = true
			all = append(all, candidate{dirFile{path, filepath.Base(path)}, named, beside})
		}
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("looking for packages: %w", err)
		}
		dir := path
		if !info.IsDir() {
			add(path, true, false)
			dir = filepath.Dir(path)
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, fmt.Errorf("looking for packages: %w", err)
		}
		for _, entry := range entries {
			isZip := strings.HasSuffix(entry.Name(), ".zip")
			if info.IsDir() || !isZip && !entry.IsDir() && strings.HasPrefix(entry.Name(), "terraform-provider-") {
				add(filepath.Join(dir, entry.Name()), false, !info.IsDir())
			}
		}
	}
	return all, nil
}

// isPlatform reports whether a text is a platform in the spelling that clients use, unlike
// linux_amd64v1.
func isPlatform(s string) bool {
	p, err := provider.ParsePlatform(s)
	system, arch, known := text.Platform(s)
	return err == nil && (!known || p == provider.Platform{OS: system, Arch: arch})
}

// addZip takes a file that is named like a package; belongs tells whether it is.
func (s *Source) addZip(f dirFile) (belongs bool, err error) {
	typ, version, system, ok := provider.ParseFilename(f.name)
	if !ok {
		return false, nil
	}
	if meant, near := s.Meant(f.path); near && (typ != s.address.Type || !isPlatform(system)) {
		return false, fmt.Errorf("%s is not named as OpenTofu names it; did you mean %s?", f.path, meant)
	}
	if typ != s.address.Type {
		return false, fmt.Errorf("%s is a package of the provider type %q, not of %s", f.path, typ, s.address)
	}
	v, err := provider.ParseVersion(version)
	switch {
	case strings.HasPrefix(version, "v"):
		return false, fmt.Errorf("%s: the version %q must not start with a v; OpenTofu finds no such package", f.path, version)
	case err != nil:
		return false, fmt.Errorf("%s: %w", f.path, err)
	case v.String() != version:
		return false, fmt.Errorf("%s: the version must be written %s", f.path, v)
	case v == provider.Version{}:
		return false, fmt.Errorf("%s: 0.0.0 is what build tools write when they do not know the version", f.path)
	}
	platform, err := provider.ParsePlatform(system)
	if err != nil {
		return false, fmt.Errorf("%s: %w", f.path, err)
	}
	r := s.releases[v]
	if r == nil {
		r = &dirRelease{packages: map[provider.Platform]dirPackage{}}
		s.releases[v] = r
	}
	if other, twice := r.packages[platform]; twice {
		return false, fmt.Errorf("%s and %s are both packages for %s", other.zip.path, f.path, platform)
	}
	r.packages[platform] = dirPackage{zip: f}
	return true, nil
}
