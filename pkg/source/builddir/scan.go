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

// dirFile is the path and the base name of a file.
type dirFile struct {
	path, name string
}

// dirRelease contains the files of one version.
type dirRelease struct {
	packages map[provider.Platform]dirPackage
	// manifests, sums, signatures, and referrers can come from several directories.
	manifests, sums, signatures, referrers []dirFile
}

// dirPackage contains a zip and the documents about it.
type dirPackage struct {
	zip       dirFile
	documents []dirFile
}

func (r *dirRelease) platforms() []provider.Platform {
	var ps []provider.Platform
	for p := range r.packages {
		ps = append(ps, p)
	}
	return provider.SortPlatforms(ps)
}

// New finds the releases of a provider in directories and zips. It returns all errors
// about file names at once.
func New(a provider.Address, paths ...string) (*Source, error) {
	s := &Source{address: a, releases: map[provider.Version]*dirRelease{}}
	files, err := listFiles(paths)
	if err != nil {
		return nil, err
	}
	// 1. Find the zips, which determine the releases.
	var problems []error
	var rest []candidate
	for _, f := range files {
		belongs, err := s.addZip(f.dirFile)
		switch {
		case err != nil:
			problems = append(problems, err)
		case !belongs && f.named:
			problems = append(problems, s.invalidName(f.path))
		case !belongs:
			rest = append(rest, f)
		}
	}
	if len(s.releases) == 0 && len(problems) == 0 {
		problems = append(problems, s.noPackages(paths, rest))
	}
	// 2. Assign the other files to the releases, or ignore them.
	for _, f := range rest {
		belongs, err := s.addDocument(f.dirFile)
		if err != nil {
			problems = append(problems, err)
		} else if !belongs && !f.adjacent {
			s.ignored = append(s.ignored, f.path)
		}
	}
	slices.Sort(s.ignored)
	return s, errors.Join(problems...)
}

func packageNames(a provider.Address) string {
	return fmt.Sprintf("terraform-provider-%s_VERSION_OS_ARCH.zip", a.Type)
}

// candidate is a file to inspect. Named files were specified by the caller. Files next
// to a named file can only be documents.
type candidate struct {
	dirFile
	named, adjacent bool
}

// listFiles returns the files in the directories, the specified zips, and the files
// next to these zips that could be documents about them.
func listFiles(paths []string) ([]candidate, error) {
	var all []candidate
	seen := map[string]bool{}
	add := func(path string, named, adjacent bool) {
		if path = filepath.Clean(path); !seen[path] {
			seen[path] = true
			all = append(all, candidate{dirFile{path, filepath.Base(path)}, named, adjacent})
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

// isPlatform reports whether s is a platform in OpenTofu's spelling. For example,
// linux_amd64v1 is not a platform.
func isPlatform(s string) bool {
	p, err := provider.ParsePlatform(s)
	system, arch, known := text.Platform(s)
	return err == nil && (!known || p == provider.Platform{OS: system, Arch: arch})
}

// addZip adds a file if it has the name of a package. belongs reports whether the file
// was added.
func (s *Source) addZip(f dirFile) (belongs bool, err error) {
	typ, version, system, ok := provider.ParseFilename(f.name)
	if !ok {
		return false, nil
	}
	if suggested, isSimilar := s.SuggestName(f.path); isSimilar && (typ != s.address.Type || !isPlatform(system)) {
		return false, fmt.Errorf("%s does not follow OpenTofu's naming convention; did you mean %s?", f.path, suggested)
	}
	if typ != s.address.Type {
		return false, fmt.Errorf("%s is a package of the provider type %q, not of %s", f.path, typ, s.address)
	}
	version = strings.TrimPrefix(version, "v") // the package is stored under its conventional name
	v, err := provider.ParseVersion(version)
	switch {
	case err != nil:
		return false, fmt.Errorf("%s: %w", f.path, err)
	case v.String() != version:
		return false, fmt.Errorf("%s: invalid version %q: want %s", f.path, version, v)
	case v == provider.Version{}:
		return false, fmt.Errorf("%s: invalid version 0.0.0, which build tools use if they don't know the version", f.path)
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
	if other, exists := r.packages[platform]; exists {
		return false, fmt.Errorf("%s and %s are both packages for %s", other.zip.path, f.path, platform)
	}
	r.packages[platform] = dirPackage{zip: f}
	return true, nil
}
