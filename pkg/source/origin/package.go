package origin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unique"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

const (
	// maxPackageDocument is the maximum size of a package document in bytes. Keys and
	// the hashes of all platforms take up tens of kilobytes.
	maxPackageDocument = 1 << 20
	// maxPackageValues is the maximum number of JSON values in a package document. Each
	// of the [maxPlatforms] platforms has a size and a few hashes.
	maxPackageValues = 16 << 10
	// maxKeys is the maximum total size in bytes of the armored keys in a package
	// document. A key is a few kilobytes in size.
	maxKeys = 256 << 10
)

// packageKey identifies a package document.
type packageKey struct {
	address  provider.Address
	version  provider.Version
	platform provider.Platform
}

// description is a parsed and validated package document.
type description struct {
	filename  string // in SHA256SUMS
	zip       *url.URL
	digest    digest.Digest // empty if unknown
	sums      *url.URL      // nil if missing
	signature *url.URL      // nil if missing
	// keys contains ASCII-armored keys. All documents of a provider contain the same
	// keys, so the keys are interned.
	keys      []unique.Handle[string]
	protocols []string
	published time.Time // zero if unknown
	stated    map[provider.Platform]stated
}

// weight returns the approximate size of the description in memory, in bytes.
func (d description) weight() int64 {
	const (
		own  = 1200 // URLs, key, and map entry
		each = 400  // two hashes, platform, and map entry
	)
	size := own + int64(len(d.stated))*each
	for _, key := range d.keys {
		size += int64(len(key.Value()))
	}
	return size
}

// stated contains unsigned information about a package from the packages block.
type stated struct {
	digest digest.Digest
	h1     string // can be empty
	size   int64  // -1 if unknown
}

// packageDocument is the registry's metadata about a package, the response to
// :namespace/:type/:version/download/:os/:arch.
type packageDocument struct {
	Protocols    []string `json:"protocols"`
	OS           string   `json:"os"`
	Arch         string   `json:"arch"`
	Filename     string   `json:"filename"`
	DownloadURL  string   `json:"download_url"`
	Shasum       string   `json:"shasum"`
	SumsURL      string   `json:"shasums_url"`
	SignatureURL string   `json:"shasums_signature_url"`
	SigningKeys  struct {
		GPG []struct {
			Armor string `json:"ascii_armor"`
		} `json:"gpg_public_keys"`
	} `json:"signing_keys"`
	dates
	// Packages describes all platforms. OpenTofu 1.12 and later use it. Only
	// registry.opentofu.org provides it.
	Packages map[string]struct {
		Hashes []string `json:"hashes"`
		Size   int64    `json:"package_size"`
	} `json:"packages"`
}

func (c client) describe(ctx context.Context, registry service, key packageKey, version listed) (description, error) {
	at := registry.at(key.address, key.version.String(), "download", key.platform.OS, key.platform.Arch)
	doc, err := httpclient.Get(ctx, c.http, at, httpclient.Request{Header: registry.header(), Limit: maxPackageDocument})
	if httpclient.IsNotFound(err) {
		others := slices.DeleteFunc(slices.Clone(version.platforms), func(p provider.Platform) bool { return p == key.platform })
		missing := &provider.PlatformError{Address: key.address, Version: key.version, Wanted: key.platform, Have: others}
		if len(others) < len(version.platforms) {
			missing.Listed = err
		}
		return description{}, missing
	}
	if err != nil {
		return description{}, registry.token.Refused(err)
	}
	var response packageDocument
	if err := doc.DecodeJSON(&response, maxPackageValues); err != nil {
		return description{}, err
	}
	d, err := response.read(doc.URL, key)
	if errors.Is(err, errNoZip) {
		return description{}, &provider.PlatformError{Address: key.address, Version: key.version, Wanted: key.platform, Listed: err}
	}
	if err != nil {
		return description{}, doc.Error(fmt.Errorf("package metadata %s: %w", httpclient.RedactURL(doc.URL), err))
	}
	d.published = response.published(doc)
	return d, nil
}

// read validates the document and resolves its URLs.
func (doc packageDocument) read(base *url.URL, key packageKey) (description, error) {
	if cmp.Or(doc.OS, key.platform.OS) != key.platform.OS || cmp.Or(doc.Arch, key.platform.Arch) != key.platform.Arch {
		return description{}, fmt.Errorf("unexpected platform %.50q, want %s", doc.OS+"_"+doc.Arch, key.platform)
	}
	about := provider.Package{Address: key.address, Version: key.version, Platform: key.platform}
	stem := strings.TrimSuffix(provider.Filename(key.address, key.version, key.platform), ".zip")
	if extension, isOther := strings.CutPrefix(doc.Filename, stem+"."); isOther && slices.Contains(otherArchives, extension) {
		return description{}, fmt.Errorf("%w: %s", errNoZip, doc.Filename)
	}
	if err := about.CheckConventional(doc.Filename); err != nil {
		return description{}, fmt.Errorf("filename: %w", err)
	}
	d := description{filename: doc.Filename, protocols: provider.SortProtocols(doc.Protocols)}
	size := 0
	for _, key := range doc.SigningKeys.GPG {
		if size += len(key.Armor); size > maxKeys {
			return description{}, fmt.Errorf("keys exceed %d bytes", maxKeys)
		}
		d.keys = append(d.keys, unique.Make(key.Armor))
	}
	if doc.Shasum == "" && doc.SumsURL == "" {
		return description{}, errors.New("neither shasum nor shasums_url is set, so the zip can't be verified")
	}
	var err error
	if d.digest, err = parseShasum(doc.Shasum); err != nil {
		return description{}, err
	}
	if doc.DownloadURL == "" {
		return description{}, errors.New("download_url is not set")
	}
	if d.zip, err = httpclient.Resolve(base, doc.DownloadURL); err != nil {
		return description{}, fmt.Errorf("download_url: %w", err)
	}
	if doc.SumsURL != "" {
		if d.sums, err = httpclient.Resolve(base, doc.SumsURL); err != nil {
			return description{}, fmt.Errorf("shasums_url: %w", err)
		}
	}
	// Without SHA256SUMS, the signature is useless, because it only covers SHA256SUMS.
	if doc.SignatureURL != "" && d.sums != nil {
		if d.signature, err = httpclient.Resolve(base, doc.SignatureURL); err != nil {
			return description{}, fmt.Errorf("shasums_signature_url: %w", err)
		}
	}
	d.stated, err = doc.statements()
	return d, err
}

// errNoZip is returned for packages that are not zips. OpenTofu can't install them, but
// installs the other packages of the release.
var errNoZip = provider.Errorf(provider.Refused, "the package is not a zip")

// otherArchives contains the file extensions of archives that are not zips.
var otherArchives = []string{"tar.gz", "tgz", "tar.xz", "txz", "tar.bz2", "tbz2", "tar.zst", "tar", "7z", "gz", "xz", "rar"}

// statements parses the packages block. It ignores hashes of unknown kinds.
func (doc packageDocument) statements() (map[provider.Platform]stated, error) {
	if len(doc.Packages) > maxPlatforms {
		return nil, fmt.Errorf("packages: %d platforms; the maximum is %d", len(doc.Packages), maxPlatforms)
	}
	all := map[provider.Platform]stated{}
	for name, item := range doc.Packages {
		platform, err := provider.ParsePlatform(name)
		if err != nil {
			return nil, fmt.Errorf("packages: %w", err)
		}
		about := stated{size: -1}
		if item.Size > 0 {
			about.size = item.Size
		}
		for _, hash := range item.Hashes {
			var err error
			switch {
			case strings.HasPrefix(hash, "zh:"):
				var zh digest.Digest
				if zh, err = sums.ParseZH(hash); err == nil && about.digest != "" && about.digest != zh {
					err = fmt.Errorf("%s has two different zh hashes", platform)
				}
				about.digest = zh
			case strings.HasPrefix(hash, "h1:") && about.h1 == "":
				about.h1, err = sums.ParseH1(hash)
			}
			if err != nil {
				return nil, fmt.Errorf("packages: %w", err)
			}
		}
		all[platform] = about
	}
	return all, nil
}

// parseShasum parses a hexadecimal SHA-256 checksum. For an empty string, it returns an
// empty digest.
func parseShasum(text string) (digest.Digest, error) {
	if text == "" {
		return "", nil
	}
	d := digest.NewDigestFromEncoded(digest.SHA256, strings.ToLower(text))
	if err := d.Validate(); err != nil {
		return "", fmt.Errorf("invalid shasum %q: want a SHA-256 checksum", text)
	}
	return d, nil
}
