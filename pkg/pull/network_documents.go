package pull

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// versionsList is the document index.json.
type versionsList struct {
	Versions map[string]struct{} `json:"versions"`
}

// archivesList is the document VERSION.json. It maps platforms to zips.
type archivesList struct {
	Archives map[string]*archive `json:"archives"`
}

// archive describes a zip. A client accepts a package if any of the hashes matches, and
// can write all of them to its lock file.
type archive struct {
	Hashes []string `json:"hashes,omitempty"`
	// URL is relative to the document.
	URL string `json:"url"`
}

// with returns the list with an additional version.
func (l versionsList) with(v provider.Version) versionsList {
	versions := maps.Clone(l.Versions)
	if versions == nil {
		versions = map[string]struct{}{}
	}
	versions[v.String()] = struct{}{}
	return versionsList{versions}
}

// with returns the list with an additional package and its known h1: hashes.
// Existing hashes are kept. If the list conflicts with the package, the error text is
// the predicate of a sentence about the list.
func (l archivesList) with(p provider.Package, h1 []string) (archivesList, error) {
	platform := p.Platform.String()
	merged := archive{URL: provider.Filename(p.Address, p.Version, p.Platform), Hashes: append([]string{sums.ZH(p.Digest)}, h1...)}
	if existing := l.Archives[platform]; existing != nil {
		if existing.URL != merged.URL {
			return l, fmt.Errorf("has the URL %[2]q for %[1]s, want %[3]q", platform, existing.URL, merged.URL)
		}
		for _, hash := range existing.Hashes {
			if !strings.Contains(hash, ":") {
				return l, fmt.Errorf("has an invalid hash %q for %s", hash, platform)
			}
			if want, differs := contradicted(hash, merged.Hashes); differs {
				return l, fmt.Errorf("has a different hash for %s: %s, want %s", platform, hash, want)
			}
		}
		merged.Hashes = append(merged.Hashes, existing.Hashes...)
	}
	slices.Sort(merged.Hashes)
	merged.Hashes = slices.Compact(merged.Hashes)
	archives := maps.Clone(l.Archives)
	if archives == nil {
		archives = map[string]*archive{}
	}
	archives[platform] = &merged
	return archivesList{archives}, nil
}

// contradicted reports whether known contains hashes with the same scheme as hash, but
// not hash itself. It returns one of these hashes.
func contradicted(hash string, known []string) (want string, differs bool) {
	scheme, _, _ := strings.Cut(hash, ":")
	for _, other := range known {
		if other == hash {
			return "", false
		}
		if strings.HasPrefix(other, scheme+":") {
			want = other
		}
	}
	return want, want != ""
}

func (l archivesList) hasH1(p provider.Package) bool {
	existing := l.Archives[p.Platform.String()]
	return existing != nil && slices.ContainsFunc(existing.Hashes, func(hash string) bool {
		_, err := sums.ParseH1(hash)
		return err == nil
	})
}

func (l archivesList) equal(other archivesList) bool { return reflect.DeepEqual(l, other) }
