package origin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
	"unique"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

const (
	// maxSums is the maximum size of SHA256SUMS in bytes. Each line is about 100 bytes
	// long.
	maxSums = 1 << 20
	// maxSignature is the maximum size of a detached signature in bytes.
	maxSignature = 256 << 10
	// maxRing is the maximum total size of a release's keys in bytes.
	maxRing    = 1 << 20
	sumsSuffix = "SHA256SUMS"
)

// releaseDocuments contains the registry's documents about all packages of a release.
type releaseDocuments struct {
	// sums is nil if no package document refers to SHA256SUMS.
	sums      *sums.File
	documents []provider.Document
	// modified is the date of SHA256SUMS, or the zero time if it is unknown.
	modified time.Time
}

// fetchDocuments requests SHA256SUMS, its signature, and the keys. All package
// documents must refer to the same SHA256SUMS and signature.
func (s *Source) fetchDocuments(ctx context.Context, a provider.Address, v provider.Version, ds []description) (releaseDocuments, error) {
	var sumsURLs, signatureURLs []*url.URL
	keys := map[unique.Handle[string]]bool{}
	for _, d := range ds {
		sumsURLs = append(sumsURLs, d.sums)
		signatureURLs = append(signatureURLs, d.signature)
		for _, key := range d.keys {
			keys[key] = true
		}
	}
	var e releaseDocuments
	name := provider.SumsName(a, v)
	found, from, err := s.common(ctx, sumsURLs, maxSums)
	if err != nil {
		return e, err
	}
	if from != nil {
		listed, err := sums.Parse(found.text)
		if err != nil {
			return e, fmt.Errorf("GET %s: %w", httpclient.RedactURL(from), err)
		}
		e.sums, e.modified = &listed, found.modified
		sumsName := name
		// Use the last part of the URL only if it can't be confused with the name of a zip.
		if last := path.Base(from.Path); strings.HasSuffix(last, sumsSuffix) && provider.CheckFilename(last) == nil {
			sumsName = last
		}
		e.documents = append(e.documents, artifact.NewDocument(sumsName, artifact.MediaTypeSums, found.text))
		signature, from, err := s.common(ctx, signatureURLs, maxSignature)
		if err != nil {
			return e, fmt.Errorf("signature: %w", err)
		}
		if from != nil {
			e.documents = append(e.documents, artifact.NewDocument(sumsName+".sig", artifact.MediaTypeSignature, signature.text))
		}
	}
	if ring := joinKeys(keys); ring != nil {
		e.documents = append(e.documents, artifact.NewDocument(name+".keys.asc", artifact.MediaTypeKeys, ring))
	}
	return e, nil
}

// common requests the documents at all non-nil URLs. It returns the document and one of
// its URLs, or nil if all URLs are nil. It returns an error if the documents differ.
func (s *Source) common(ctx context.Context, urls []*url.URL, limit int64) (file, *url.URL, error) {
	var distinct []*url.URL
	seen := map[string]bool{}
	for _, u := range urls {
		if u != nil && !seen[u.String()] {
			seen[u.String()] = true
			distinct = append(distinct, u)
		}
	}
	if len(distinct) == 0 {
		return file{}, nil, nil
	}
	first, err := s.protocol.document(ctx, distinct[0], limit)
	if err != nil {
		return file{}, nil, err
	}
	// Each of the other documents is compared and discarded as soon as it is received.
	err = schedule.All(ctx, maxDocuments, distinct[1:], func(ctx context.Context, _ int, u *url.URL) error {
		other, err := s.protocol.document(ctx, u, limit)
		if err == nil && !bytes.Equal(other.text, first.text) {
			err = fmt.Errorf("%w: %s and %s", errDifferentDocuments, httpclient.RedactURL(distinct[0]), httpclient.RedactURL(u))
		}
		return err
	})
	return first, distinct[0], err
}

var errDifferentDocuments = errors.New("the platforms of the release refer to different documents")

// keySet contains the distinct keys of a release.
type keySet struct {
	mu   sync.Mutex
	keys map[unique.Handle[string]]bool
	size int
}

// add adds keys. It returns an error as soon as the keys exceed maxRing, even if other
// documents are still being read.
func (r *keySet) add(keys []unique.Handle[string]) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.keys == nil {
		r.keys = map[unique.Handle[string]]bool{}
	}
	for _, key := range keys {
		if r.keys[key] {
			continue
		}
		if r.size += len(key.Value()); r.size > maxRing {
			return fmt.Errorf("signing keys exceed %d bytes", maxRing)
		}
		r.keys[key] = true
	}
	return nil
}

// joinKeys concatenates the armored keys, without duplicates and in a fixed order. If
// keys is empty, it returns nil.
func joinKeys(keys map[unique.Handle[string]]bool) []byte {
	var clean []string
	for key := range keys {
		if text := strings.TrimSpace(key.Value()); text != "" {
			clean = append(clean, text+"\n")
		}
	}
	if clean == nil {
		return nil
	}
	slices.Sort(clean)
	return []byte(strings.Join(slices.Compact(clean), ""))
}
