package origintest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// Release is a provider's version in an origin registry.
type Release struct {
	Namespace, Type string
	// Version is served unchanged, even if it is not a valid version.
	Version   string
	Protocols []string
	Archives  map[provider.Platform]Archive
	// Sums is the SHA256SUMS document. If nil, it is generated from the archives.
	Sums []byte
	// Modified is the Last-Modified time of SHA256SUMS. If zero, the header is omitted.
	Modified time.Time
	// NoSums omits SHA256SUMS and all references to it.
	NoSums bool
	// Signature is the signature of SHA256SUMS. If nil, no signature is offered.
	Signature []byte
	// Keys contains ASCII-armored public keys.
	Keys []string
	// List, if not nil, can change the version's entry in the version list.
	List func(entry map[string]any)
	// Edit, if not nil, can change a platform's package document before it is served.
	Edit func(p provider.Platform, document map[string]any)
}

// Archive is a zip that consists of bytes or is a file on disk.
type Archive struct {
	Bytes []byte
	Path  string
	// Name is the file name. If empty, the conventional file name is used.
	Name string
}

// release is a Release together with its computed hashes.
type release struct {
	Release
	archives map[provider.Platform]archive
	sumsName string
}

type archive struct {
	Archive
	digest digest.Digest
	size   int64
	h1     string // empty if the content is not a zip
}

// Add adds a release. It reads every archive once to compute the hashes. Files must not
// be moved after Add has been called. If the version exists, it is replaced.
func (o *Origin) Add(ctx context.Context, r Release) error {
	stem := fmt.Sprintf("terraform-provider-%s_%s", r.Type, r.Version)
	added := &release{Release: r, archives: map[provider.Platform]archive{}, sumsName: stem + "_SHA256SUMS"}
	listed := map[string]digest.Digest{}
	for p, a := range r.Archives {
		if a.Name == "" {
			a.Name = fmt.Sprintf("%s_%s.zip", stem, p)
		}
		measured, err := measure(ctx, a)
		if err != nil {
			return fmt.Errorf("adding %s: %w", a.Name, err)
		}
		added.archives[p] = measured
		listed[a.Name] = measured.digest
	}
	if r.Sums == nil {
		added.Sums = sums.New(listed).Bytes()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, old := range o.releases {
		if old.Namespace == r.Namespace && old.Type == r.Type && old.Version == r.Version {
			o.releases[i] = added
			return nil
		}
	}
	o.releases = append(o.releases, added)
	return nil
}

// content is implemented by both files and bytes.
type content interface {
	io.ReadSeeker
	io.ReaderAt
}

// open returns the archive's content. The caller must call done.
func (a Archive) open() (c content, done func(), err error) {
	if a.Path == "" {
		return bytes.NewReader(a.Bytes), func() {}, nil
	}
	f, err := os.Open(a.Path)
	if err != nil {
		return nil, nil, err
	}
	return f, func() { _ = f.Close() }, nil
}

func measure(ctx context.Context, a Archive) (archive, error) {
	c, done, err := a.open()
	if err != nil {
		return archive{}, err
	}
	defer done()
	hash := sha256.New()
	size, err := io.Copy(hash, c)
	if err != nil {
		return archive{}, err
	}
	measured := archive{Archive: a, digest: digest.NewDigest(digest.SHA256, hash), size: size}
	// Tests also serve content that is not a zip and has no h1 hash.
	if h1, err := H1(c, size); err == nil {
		measured.h1 = h1
	}
	return measured, ctx.Err()
}
