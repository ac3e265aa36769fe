package networkmirror

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/packagezip"
	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

const (
	// maxMeasured is the maximum number of packages that one call to Release downloads
	// concurrently.
	maxMeasured = 4
	// originTimeout is the default of Source.originTimeout. It is short, because
	// connections can hang in an isolated network.
	originTimeout = 15 * time.Second
	// maxCompared is the maximum number of other versions to search for a hash.
	maxCompared = 4
)

// HashError reports that a network mirror lists wrong hashes for a package.
type HashError struct {
	// Document is the URL of VERSION.json.
	Document string
	// Stated lists the hashes in the document.
	Stated []string
	// Actual is the hash of the package according to Reference, for example "zh:…".
	Actual, Reference string
	// Other is a version for which the mirror lists one of the same hashes. It is the
	// zero value if no such version was found.
	Other provider.Version
}

func (e *HashError) Error() string {
	text := fmt.Sprintf("%s lists the hash %s, but according to %s, the hash is %s", e.Document, strings.Join(e.Stated, ", "), e.Reference, e.Actual)
	if e.Other != (provider.Version{}) {
		text += fmt.Sprintf("; the mirror lists the same hash for version %s", e.Other)
	}
	return text
}

// Kind returns [provider.Unverified].
func (e *HashError) Kind() provider.ErrorKind { return provider.Unverified }

// originRelease returns the release from the origin registry. known is false if the
// registry is unavailable or doesn't have the release. After the registry has listed
// its versions, any other error is returned, so that a temporary failure does not make
// a release unsigned.
func (s *Source) originRelease(ctx context.Context, a provider.Address, v provider.Version, platforms []provider.Platform) (r provider.Release, known bool, err error) {
	if _, skip := s.unavailable.Load(a.Host); skip || s.options.Origin == nil {
		return r, false, nil
	}
	limited, cancel := context.WithTimeout(ctx, s.originTimeout)
	defer cancel()
	_, err = s.options.Origin.Versions(limited, a)
	missing := errors.Is(err, provider.ErrProviderNotFound)
	switch {
	case ctx.Err() != nil:
		return r, false, ctx.Err()
	case err != nil && !missing:
		if _, again := s.unavailable.LoadOrStore(a.Host, true); !again {
			s.options.OnNote(fmt.Sprintf("no signatures, because the origin registry is unavailable: %v", err))
		}
		return r, false, nil
	case !missing:
		r, err = s.options.Origin.Release(ctx, a, v, platforms...)
		missing = errors.Is(err, provider.ErrVersionNotFound)
	}
	if missing {
		s.options.OnNote(fmt.Sprintf("%s %s has no signature, because the origin registry does not have this version", a, v))
		return r, false, nil
	}
	return r, err == nil, err
}

// candidate is a package whose hashes are checked.
type candidate struct {
	provider.Package
	archive
	// document is the URL of the package's VERSION.json. It is used only in messages.
	document string
	// other is a version for which the mirror lists one of the same hashes. It is the
	// zero value if no such version was found.
	other provider.Version
}

// otherDocuments returns the documents of some other versions. It ignores documents that
// can't be read.
func (s *Source) otherDocuments(ctx context.Context, a provider.Address, v provider.Version) map[provider.Version]document {
	versions, _ := s.Versions(ctx, a)
	versions = slices.DeleteFunc(versions, func(other provider.Version) bool { return other == v })
	found := map[provider.Version]document{}
	for _, other := range versions[:min(len(versions), maxCompared)] {
		if d, err := s.document(ctx, a, other); err == nil {
			found[other] = d
		}
	}
	return found
}

// otherStating returns the newest other version for which the mirror lists one of the
// same hashes on the same platform.
//
// "tofu providers mirror" 1.12 assigns the hashes of the version that it downloads to all
// versions in the directory, so it is enough to compare a few versions.
func (a archive) otherStating(others map[provider.Version]document, platform provider.Platform) provider.Version {
	for _, v := range provider.NewestFirst(slices.Collect(maps.Keys(others))) {
		b := others[v].archives[platform]
		if slices.ContainsFunc(a.zh, func(d digest.Digest) bool { return slices.Contains(b.zh, d) }) ||
			slices.ContainsFunc(a.h1, func(h1 string) bool { return slices.Contains(b.h1, h1) }) {
			return v
		}
	}
	return provider.Version{}
}

// mismatch returns a *[HashError] for listed hashes that don't include the actual hash.
func (c candidate) mismatch(stated []string, actual, reference string) error {
	return &HashError{Document: c.document, Stated: stated, Actual: actual, Reference: reference, Other: c.other}
}

// checkZH returns a *[HashError] if the mirror lists zh: hashes, but none of them
// matches the digest. The digest comes from reference.
func (c candidate) checkZH(reference string) error {
	if len(c.zh) == 0 || slices.Contains(c.zh, c.Digest) {
		return nil
	}
	stated := make([]string, len(c.zh))
	for i, d := range c.zh {
		stated[i] = sums.ZH(d)
	}
	return c.mismatch(stated, sums.ZH(c.Digest), reference)
}

// identify returns a package with its digest. The digest comes from the origin or from
// a single zh: hash that belongs only to this version. Otherwise, identify downloads
// the package.
func (s *Source) identify(ctx context.Context, c candidate) (provider.Package, error) {
	p, reason := c.Package, ""
	switch {
	case p.Digest != "":
		return p, c.checkZH("the origin registry")
	case len(c.zh)+len(c.h1) == 0:
		reason = "lists no hash"
	case len(c.zh) == 0:
		reason = "lists only an h1 hash"
	case len(c.zh) > 1:
		reason = "lists more than one zh hash"
	case c.other != provider.Version{}:
		reason = fmt.Sprintf("lists the same hash for version %s", c.other)
	default:
		p.Digest = c.zh[0]
		return p, nil
	}
	m, err := s.measured.Get(ctx, packageKey{releaseKey{p.Address, p.Version}, p.Platform}, func(ctx context.Context) (measured, error) {
		s.options.OnNote(fmt.Sprintf("downloading %s to compute its checksum, because %s %s", p.Filename, httpclient.RedactURL(s.base), reason))
		return s.measure(ctx, p)
	})
	if err != nil {
		return p, err
	}
	p.Digest, p.Size, p.H1, p.H1Unpacked = m.digest, m.size, m.H1, ""
	if m.Directories {
		p.H1Unpacked = m.H1Unpacked
	}
	c.Package = p
	if err := c.checkZH("the package itself"); err != nil {
		return p, err
	}
	if len(c.h1) > 0 && !slices.Contains(c.h1, m.H1) && !slices.Contains(c.h1, m.H1Unpacked) {
		return p, c.mismatch(c.h1, m.H1, "the package itself")
	}
	return p, m.checkVersion(p)
}

// measured is the result of downloading a package.
type measured struct {
	packagezip.Contents
	digest digest.Digest
	size   int64
}

// measure downloads a package to a temporary file to compute its digest and h1.
func (s *Source) measure(ctx context.Context, p provider.Package) (m measured, err error) {
	spool, err := atomicfile.NewScratchFile("", p.Size)
	if err != nil {
		return m, err
	}
	defer func() { _ = spool.Close() }()
	err = transfer.Retrier{Progress: s.options.Progress}.Do(ctx, "reading "+p.Filename, func() error {
		if err := spool.Reset(); err != nil {
			return err
		}
		body, size, err := s.download(ctx, p)
		if err != nil {
			return err
		}
		content := transfer.Watch(s.options.Progress, p, size, body)
		defer func() { _ = content.Close() }()
		hash := digest.SHA256.Digester()
		m.size, err = io.Copy(io.MultiWriter(spool, hash.Hash()), content)
		m.digest = hash.Digest()
		return err
	})
	if err != nil {
		return m, fmt.Errorf("reading %s: %w", p.Filename, err)
	}
	zip, err := packagezip.Open(spool, m.size)
	if err == nil {
		m.Contents, err = zip.Contents(ctx)
	}
	if err != nil {
		return m, fmt.Errorf("reading %s: %w", p.Filename, err)
	}
	kept := s.options.Store.Keep(m.digest, m.size, io.NopCloser(io.NewSectionReader(spool, 0, m.size)))
	_, err = io.Copy(io.Discard, kept)
	return m, errors.Join(err, kept.Close())
}

// checkVersion returns an error if the name of the executable contains a different
// version, because an unsigned package's hashes don't show to which version it belongs.
func (m measured) checkVersion(p provider.Package) error {
	name, _ := m.Executable(p.Address.Type)
	_, rest, _ := strings.Cut(name, "_v")
	text, _, _ := strings.Cut(rest, "_")
	if v, err := provider.ParseVersion(text); err == nil && v != p.Version {
		return provider.Errorf(provider.Unverified, "%s contains %s, the executable of version %s", p.Filename, name, v)
	}
	return nil
}
