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

	"golang.org/x/sync/errgroup"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

const (
	// maxSums bounds SHA256SUMS, in bytes: a hundred bytes a file.
	maxSums = 4 << 20
	// maxSignature bounds a detached signature, in bytes.
	maxSignature = 1 << 20
	sumsSuffix   = "SHA256SUMS"
)

// fetchEvidence gets SHA256SUMS and its signature, of which a release has one
// each however many documents point at them, and the keys. The sums are nil
// when no package document names any.
func (s *Source) fetchEvidence(ctx context.Context, a provider.Address, v provider.Version, ds []description) (*sums.File, []provider.Document, error) {
	var sumsURLs, signatureURLs []*url.URL
	var keys []string
	for _, d := range ds {
		sumsURLs = append(sumsURLs, d.sums)
		signatureURLs = append(signatureURLs, d.signature)
		keys = append(keys, d.keys...)
	}
	var documents []provider.Document
	name := provider.SumsName(a, v)
	text, from, err := s.common(ctx, sumsURLs, maxSums)
	if err != nil {
		return nil, nil, err
	}
	var listed *sums.File
	if from != nil {
		file, err := sums.Parse(text)
		if err != nil {
			return nil, nil, fmt.Errorf("GET %s: %w", httpclient.RedactURL(from), err)
		}
		listed = &file
		sumsName := name
		// Only a name that says what it is: it must not pass for a zip's.
		if last := path.Base(from.Path); strings.HasSuffix(last, sumsSuffix) && provider.CheckFilename(last) == nil {
			sumsName = last
		}
		documents = append(documents, artifact.NewDocument(sumsName, artifact.MediaTypeSums, text))
		signature, from, err := s.common(ctx, signatureURLs, maxSignature)
		if err != nil {
			return nil, nil, fmt.Errorf("signature: %w", err)
		}
		if from != nil {
			documents = append(documents, artifact.NewDocument(sumsName+".sig", artifact.MediaTypeSignature, signature))
		}
	}
	if ring := joinKeys(keys); ring != nil {
		documents = append(documents, artifact.NewDocument(name+".keys.asc", artifact.MediaTypeKeys, ring))
	}
	return listed, documents, nil
}

// common gets the document that all URLs which are not nil lead to, and one of
// the URLs; nil when there is none. Another document at any of them is an error.
func (s *Source) common(ctx context.Context, urls []*url.URL, limit int64) ([]byte, *url.URL, error) {
	var distinct []*url.URL
	for _, u := range urls {
		same := func(other *url.URL) bool { return other.String() == u.String() }
		if u != nil && !slices.ContainsFunc(distinct, same) {
			distinct = append(distinct, u)
		}
	}
	texts := make([][]byte, len(distinct))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxDocuments)
	for i, u := range distinct {
		group.Go(func() (err error) {
			texts[i], err = s.protocol.document(ctx, u, limit)
			return err
		})
	}
	if err := group.Wait(); err != nil || len(distinct) == 0 {
		return nil, nil, err
	}
	for i, text := range texts {
		if !bytes.Equal(text, texts[0]) {
			return nil, nil, fmt.Errorf("%w: %s and %s", errEvidenceDiffers,
				httpclient.RedactURL(distinct[0]), httpclient.RedactURL(distinct[i]))
		}
	}
	return texts[0], distinct[0], nil
}

var errEvidenceDiffers = errors.New("the platforms of the release name different documents")

// joinKeys makes one text of armored keys, each once and in a fixed order; nil
// when there are none.
func joinKeys(keys []string) []byte {
	var clean []string
	for _, key := range keys {
		if key = strings.TrimSpace(key); key != "" {
			clean = append(clean, key+"\n")
		}
	}
	if clean == nil {
		return nil
	}
	slices.Sort(clean)
	return []byte(strings.Join(slices.Compact(clean), ""))
}
