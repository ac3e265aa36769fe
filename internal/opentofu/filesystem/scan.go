package filesystem

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// filesystemRelease maps platforms to the packages of a version.
type filesystemRelease map[provider.Platform]filesystemPackage

func (r filesystemRelease) platforms() []provider.Platform {
	var ps []provider.Platform
	for p := range r {
		ps = append(ps, p)
	}
	return provider.SortPlatforms(ps)
}

// releases returns the releases of a provider. It reads the directory only once.
func (s *Source) releases(ctx context.Context, a provider.Address) (map[provider.Version]filesystemRelease, error) {
	// Without this check, cached results would be returned after ctx is canceled.
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.found.Get(ctx, a, func(ctx context.Context) (map[provider.Version]filesystemRelease, error) {
		releases, err := scanMirror(ctx, s.dir, a)
		if err != nil {
			return nil, fmt.Errorf("looking for %s in %s: %w", a, s.dir, err)
		}
		if len(releases) == 0 {
			return nil, fmt.Errorf("%w: %s has no package of %s", provider.ErrProviderNotFound, s.dir, a)
		}
		return releases, nil
	})
}

// scanMirror finds the packages of a provider. Like SearchLocalDirectory in OpenTofu's
// internal/getproviders, it ignores the case of names. It follows symbolic links only
// for the base directory, zips, and platform directories.
func scanMirror(ctx context.Context, dir string, a provider.Address) (map[provider.Version]filesystemRelease, error) {
	base, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	dirs := []string{base}
	for _, wanted := range []func(name string) bool{
		func(name string) bool { host, err := provider.ParseHost(name); return err == nil && host == a.Host },
		func(name string) bool { return matchesAddress(a, name, a.Type) },
		func(name string) bool { return matchesAddress(a, a.Namespace, name) },
	} {
		if dirs, err = subdirectories(ctx, dirs, wanted); err != nil {
			return nil, err
		}
	}
	releases := map[provider.Version]filesystemRelease{}
	for _, dir := range dirs {
		if err := scanProvider(ctx, dir, a, releases); err != nil {
			return nil, err
		}
	}
	return releases, nil
}

// matchesAddress reports whether namespace and type match an address, ignoring case.
func matchesAddress(a provider.Address, namespace, typ string) bool {
	parsed, err := provider.ParseAddress(a.Host.ForDisplay() + "/" + namespace + "/" + typ)
	return err == nil && parsed == a
}

// subdirectories returns the directories in dirs with one of the given names.
func subdirectories(ctx context.Context, dirs []string, wanted func(name string) bool) ([]string, error) {
	var found []string
	for _, dir := range dirs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			if entry.IsDir() && wanted(entry.Name()) {
				found = append(found, filepath.Join(dir, entry.Name()))
			}
		}
	}
	return found, nil
}

// scanProvider adds the packages in the directory of a provider.
func scanProvider(ctx context.Context, dir string, a provider.Address, releases map[provider.Version]filesystemRelease) error {
	add := func(v provider.Version, platform provider.Platform, p filesystemPackage) {
		if releases[v] == nil {
			releases[v] = filesystemRelease{}
		}
		// If several zips or several directories exist for a platform, the first one is
		// used. Zips take precedence over directories.
		if existing, exists := releases[v][platform]; !exists || existing.unpacked && !p.unpacked {
			releases[v][platform] = p
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		path := filepath.Join(dir, entry.Name())
		v, err := provider.ParseVersion(entry.Name())
		switch {
		case err == nil && entry.IsDir():
			if err := scanVersion(path, func(platform provider.Platform, p filesystemPackage) { add(v, platform, p) }); err != nil {
				return err
			}
		case !entry.IsDir():
			if v, platform, ok := packedName(a, entry.Name()); ok && isRegular(path) {
				add(v, platform, filesystemPackage{path: path})
			}
		}
	}
	return nil
}

// scanVersion finds the unpacked packages of a version.
func scanVersion(dir string, add func(provider.Platform, filesystemPackage)) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		platform, err := provider.ParsePlatform(entry.Name())
		if info, statErr := os.Stat(path); err == nil && statErr == nil && info.IsDir() {
			add(platform, filesystemPackage{path: path, unpacked: true})
		}
	}
	return nil
}

// packedName returns the version and platform in the name of a zip. Like OpenTofu, it
// ignores case and any text after the platform that starts with an underscore.
func packedName(a provider.Address, name string) (v provider.Version, platform provider.Platform, ok bool) {
	rest, isPackage := strings.CutPrefix(strings.ToLower(name), "terraform-provider-"+a.Type+"_")
	rest, isZip := strings.CutSuffix(rest, ".zip")
	words := strings.Split(rest, "_")
	if !isPackage || !isZip || len(words) < 3 {
		return v, platform, false
	}
	v, err := provider.ParseVersion(words[0])
	if err != nil {
		return v, platform, false
	}
	platform, err = provider.ParsePlatform(words[1] + "_" + words[2])
	return v, platform, err == nil
}

// isRegular reports whether path is a regular file or a link to a regular file.
func isRegular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
