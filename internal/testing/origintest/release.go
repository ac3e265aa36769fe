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

// Release is a version of a provider that an origin offers.
type Release struct {
	Namespace, Type string
	// Version is served as it stands, whether it is a version or not.
	Version   string
	Protocols []string
	Archives  map[provider.Platform]Archive
	// Sums is the SHA256SUMS document; made of the archives when nil.
	Sums []byte
	// Modified is the date of the sums by the server that has them; none when zero.
	Modified time.Time
	// NoSums leaves out the document and every mention of it.
	NoSums bool
	// Signature of the sums; none is offered when nil.
	Signature []byte
	// Keys are ASCII-armored public keys.
	Keys []string
	// List may change the version's entry in the list of versions.
	List func(entry map[string]any)
	// Edit may change a platform's package document before it is served.
	Edit func(p provider.Platform, document map[string]any)
}

// Archive is a zip: either bytes, or a file that is served from disk.
type Archive struct {
	Bytes []byte
	Path  string
	// Name is the file name; the conventional one when empty.
	Name string
}

// release is a Release with what was computed from it.
type release struct {
	Release
	archives map[provider.Platform]archive
	sumsName string
}

type archive struct {
	Archive
	digest digest.Digest
	size   int64
	h1     string // empty when the bytes are no zip
}

// Add offers a release. It reads every archive once, for its hashes; files must
// stay where they are. Adding a version again replaces it.
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

// content is what both files and bytes can do.
type content interface {
	io.ReadSeeker
	io.ReaderAt
}

// open returns the archive's bytes; done must be called at the end.
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
	// Tests serve bytes that are no zip at all; those have no h1.
	if h1, err := H1(c, size); err == nil {
		measured.h1 = h1
	}
	return measured, ctx.Err()
}
