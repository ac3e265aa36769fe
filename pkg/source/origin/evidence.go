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

	"golang.org/x/sync/errgroup"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

const (
	// maxSums bounds SHA256SUMS, in bytes: a hundred bytes a file.
	maxSums = 1 << 20
	// maxSignature bounds a detached signature, in bytes.
	maxSignature = 256 << 10
	// maxRing bounds all keys of a release together, in bytes.
	maxRing    = 1 << 20
	sumsSuffix = "SHA256SUMS"
)

// evidence is what a registry has about all packages of a release.
type evidence struct {
	// sums are nil when no package document names any.
	sums      *sums.File
	documents []provider.Document
	// modified is the date of SHA256SUMS; zero when unknown.
	modified time.Time
}

// fetchEvidence gets SHA256SUMS and its signature, of which a release has one
// each however many documents point at them, and the keys.
func (s *Source) fetchEvidence(ctx context.Context, a provider.Address, v provider.Version, ds []description) (evidence, error) {
	var sumsURLs, signatureURLs []*url.URL
	keys := map[unique.Handle[string]]bool{}
	for _, d := range ds {
		sumsURLs = append(sumsURLs, d.sums)
		signatureURLs = append(signatureURLs, d.signature)
		for _, key := range d.keys {
			keys[key] = true
		}
	}
	var e evidence
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
		// Only a name that says what it is: it must not pass for a zip's.
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

// common gets the document that all URLs which are not nil lead to, and one of
// the URLs; nil when there is none. Another document at any of them is an error.
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
	// The others are compared as they come: none of them has to be kept.
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxDocuments)
	for _, u := range distinct[1:] {
		group.Go(func() error {
			other, err := s.protocol.document(ctx, u, limit)
			if err == nil && !bytes.Equal(other.text, first.text) {
				err = fmt.Errorf("%w: %s and %s", errEvidenceDiffers, httpclient.RedactURL(distinct[0]), httpclient.RedactURL(u))
			}
			return err
		})
	}
	return first, distinct[0], group.Wait()
}

var errEvidenceDiffers = errors.New("the platforms of the release name different documents")

// ring is the keys of a release, each once.
type ring struct {
	mu   sync.Mutex
	keys map[unique.Handle[string]]bool
	size int
}

// add refuses more keys than fit, while the documents that name them still come.
func (r *ring) add(keys []unique.Handle[string]) error {
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
			return fmt.Errorf("the release's signing keys have more than %d bytes", maxRing)
		}
		r.keys[key] = true
	}
	return nil
}

// joinKeys makes one text of armored keys, each once and in a fixed order; nil
// when there are none.
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
