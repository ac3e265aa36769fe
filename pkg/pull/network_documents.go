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

// versionsList is index.json.
type versionsList struct {
	Versions map[string]struct{} `json:"versions"`
}

// archivesList is VERSION.json: the zips by platform.
type archivesList struct {
	Archives map[string]*archive `json:"archives"`
}

// archive is a zip. A client takes one that any of the hashes fits, and may write
// all of them into a lock file.
type archive struct {
	Hashes []string `json:"hashes,omitempty"`
	// URL is relative to that of the document.
	URL string `json:"url"`
}

// with returns the list with a version.
func (l versionsList) with(v provider.Version) versionsList {
	versions := maps.Clone(l.Versions)
	if versions == nil {
		versions = map[string]struct{}{}
	}
	versions[v.String()] = struct{}{}
	return versionsList{versions}
}

// with returns the list with a package; an h1 that is not known is empty. Hashes
// that are there stay. An error says what the list has of the package that can't
// be so, and completes a sentence.
func (l archivesList) with(p provider.Package, h1 string) (archivesList, error) {
	platform := p.Platform.String()
	merged := archive{URL: provider.Filename(p.Address, p.Version, p.Platform), Hashes: []string{sums.ZH(p.Digest)}}
	if h1 != "" {
		merged.Hashes = append(merged.Hashes, h1)
	}
	if there := l.Archives[platform]; there != nil {
		if there.URL != merged.URL {
			return l, fmt.Errorf("says that the zip for %s is at %q, and not at %q", platform, there.URL, merged.URL)
		}
		for _, hash := range there.Hashes {
			if !strings.Contains(hash, ":") {
				return l, fmt.Errorf("has %q for %s, which is no hash", hash, platform)
			}
			if want, differs := contradicted(hash, merged.Hashes); differs {
				return l, fmt.Errorf("has another hash for %s (%s, want %s)", platform, hash, want)
			}
		}
		merged.Hashes = append(merged.Hashes, there.Hashes...)
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

// contradicted returns the hash of the same scheme that differs: a zip has one of
// each.
func contradicted(hash string, known []string) (want string, differs bool) {
	scheme, _, _ := strings.Cut(hash, ":")
	for _, want := range known {
		if rest, same := strings.CutPrefix(want, scheme+":"); same && hash != scheme+":"+rest {
			return want, true
		}
	}
	return "", false
}

func (l archivesList) hasH1(p provider.Package) bool {
	there := l.Archives[p.Platform.String()]
	return there != nil && slices.ContainsFunc(there.Hashes, func(hash string) bool {
		_, err := sums.ParseH1(hash)
		return err == nil
	})
}

func (l archivesList) equal(other archivesList) bool { return reflect.DeepEqual(l, other) }
