package origin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
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
	// maxPackageDocument bounds a package document, in bytes: keys and the hashes
	// of all platforms make some tens of kilobytes.
	maxPackageDocument = 1 << 20
	// maxPackageValues bounds the JSON values in it: each of [maxPlatforms] has a
	// size and a few hashes.
	maxPackageValues = 16 << 10
	// maxKeys bounds the armored keys in it, in bytes together. One is a few
	// kilobytes.
	maxKeys = 256 << 10
)

// packageKey names a package document.
type packageKey struct {
	address  provider.Address
	version  provider.Version
	platform provider.Platform
}

// description is a package document, read and checked as far as it goes alone.
type description struct {
	filename  string // as SHA256SUMS lists it
	zip       *url.URL
	digest    digest.Digest // empty when not given
	sums      *url.URL      // nil when there are none
	signature *url.URL      // nil when there is none
	// keys are ASCII-armored, as given: the same in every document of a provider,
	// and so kept once.
	keys      []unique.Handle[string]
	protocols []string
	published time.Time // zero: the document does not say
	stated    map[provider.Platform]stated
}

// weight is about what the description takes in memory, in bytes.
func (d description) weight() int64 {
	const (
		own  = 1200 // its URLs, the key, and their place in a map
		each = 400  // two hashes, a platform, and their place in a map
	)
	size := own + int64(len(d.stated))*each
	for _, key := range d.keys {
		size += int64(len(key.Value()))
	}
	return size
}

// stated is what a registry says of a package without a signature.
type stated struct {
	digest digest.Digest
	h1     string // may be empty
	size   int64  // -1: not given
}

// packageDocument is the answer to :namespace/:type/:version/download/:os/:arch.
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
	// Packages is about all platforms, whichever was asked for. Since OpenTofu
	// 1.12, and on registry.opentofu.org only.
	Packages map[string]struct {
		Hashes []string `json:"hashes"`
		Size   int64    `json:"package_size"`
	} `json:"packages"`
}

func (c client) describe(ctx context.Context, registry service, key packageKey, version listed) (description, error) {
	at := registry.base.JoinPath(url.PathEscape(key.address.Namespace), url.PathEscape(key.address.Type),
		url.PathEscape(key.version.String()), "download", key.platform.OS, key.platform.Arch)
	doc, err := httpclient.Get(ctx, c.http, at, httpclient.Request{Header: registry.header(), Limit: maxPackageDocument})
	if isStatus(err, http.StatusNotFound) {
		others := slices.DeleteFunc(slices.Clone(version.platforms), func(p provider.Platform) bool { return p == key.platform })
		missing := &provider.PlatformError{Address: key.address, Version: key.version, Wanted: key.platform, Have: others}
		if len(others) < len(version.platforms) {
			missing.Listed = err
		}
		return description{}, missing
	}
	if err != nil {
		return description{}, registry.refused(err)
	}
	var answer packageDocument
	if err := decode(doc, &answer, maxPackageValues); err != nil {
		return description{}, err
	}
	d, err := answer.read(doc.URL, key)
	if err != nil {
		return description{}, doc.Error(fmt.Errorf("package document %s: %w", httpclient.RedactURL(doc.URL), err))
	}
	d.published = answer.published(doc)
	return d, nil
}

// read checks the document and resolves its URLs.
func (doc packageDocument) read(base *url.URL, key packageKey) (description, error) {
	if cmp.Or(doc.OS, key.platform.OS) != key.platform.OS || cmp.Or(doc.Arch, key.platform.Arch) != key.platform.Arch {
		return description{}, fmt.Errorf("it is about %.50q, not %s", doc.OS+"_"+doc.Arch, key.platform)
	}
	about := provider.Package{Address: key.address, Version: key.version, Platform: key.platform}
	if err := about.CheckConventional(doc.Filename); err != nil {
		return description{}, fmt.Errorf("filename: %w", err)
	}
	d := description{filename: doc.Filename, protocols: provider.SortProtocols(doc.Protocols)}
	size := 0
	for _, key := range doc.SigningKeys.GPG {
		if size += len(key.Armor); size > maxKeys {
			return description{}, fmt.Errorf("its keys have more than %d bytes", maxKeys)
		}
		d.keys = append(d.keys, unique.Make(key.Armor))
	}
	if doc.Shasum == "" && doc.SumsURL == "" {
		return description{}, errors.New("it has neither shasum nor shasums_url, so nothing says which bytes are right")
	}
	var err error
	if d.digest, err = readShasum(doc.Shasum); err != nil {
		return description{}, err
	}
	if doc.DownloadURL == "" {
		return description{}, errors.New("it has no download_url")
	}
	if d.zip, err = resolveURL(base, doc.DownloadURL); err != nil {
		return description{}, fmt.Errorf("download_url: %w", err)
	}
	if doc.SumsURL != "" {
		if d.sums, err = resolveURL(base, doc.SumsURL); err != nil {
			return description{}, fmt.Errorf("shasums_url: %w", err)
		}
	}
	// A signature is of the sums, and means nothing without them.
	if doc.SignatureURL != "" && d.sums != nil {
		if d.signature, err = resolveURL(base, doc.SignatureURL); err != nil {
			return description{}, fmt.Errorf("shasums_signature_url: %w", err)
		}
	}
	d.stated, err = doc.statements()
	return d, err
}

// statements reads the packages block. Hashes of kinds that we don't know are
// left alone.
func (doc packageDocument) statements() (map[provider.Platform]stated, error) {
	if len(doc.Packages) > maxPlatforms {
		return nil, fmt.Errorf("packages: there are %d, more than the %d platforms that can be real", len(doc.Packages), maxPlatforms)
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

// readShasum reads a SHA-256 in hexadecimal digits; empty stays empty.
func readShasum(text string) (digest.Digest, error) {
	if text == "" {
		return "", nil
	}
	d := digest.NewDigestFromEncoded(digest.SHA256, strings.ToLower(text))
	if err := d.Validate(); err != nil {
		return "", fmt.Errorf("shasum %q is not a SHA-256 checksum", text)
	}
	return d, nil
}
