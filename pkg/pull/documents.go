package pull

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// writeDocuments writes the documents about the release and each package to the
// directories of the zips. It keeps the documents' names, and adds their paths to the
// results.
func writeDocuments(ctx context.Context, src provider.Source, r provider.Release, results []Result) error {
	shared := r.Documents
	if about := provider.CapabilitiesOf(src).Documents; about != nil {
		more, err := about(ctx, r)
		if err != nil {
			return err
		}
		shared = slices.Concat(shared, more)
	}
	r, err := provider.WithAttestations(ctx, src, r)
	if err != nil {
		return err
	}
	for i, result := range results {
		for _, d := range slices.Concat(r.Packages[i].Documents, shared) {
			if !isDocumentName(d.Name, r.Address) {
				results[i].Skipped = append(results[i].Skipped, d.Name)
				continue
			}
			content, err := d.Read(ctx)
			if err != nil {
				return err
			}
			path := filepath.Join(filepath.Dir(result.Path), d.Name)
			if err := writeDocument(path, content); err != nil {
				return fmt.Errorf("writing documents: %w", err)
			}
			results[i].Documents = append(results[i].Documents, path)
		}
	}
	return nil
}

// isDocumentName reports whether a file name is a conventional name of a document about
// a provider. A conventional name consists of terraform-provider-TYPE, "_" or ".", and
// a known suffix. The name comes from a repository and is not verified. Therefore, it
// must not be the name of a package, a configuration, or any other file that programs
// look for in the same directory.
func isDocumentName(name string, a provider.Address) bool {
	rest, found := strings.CutPrefix(name, "terraform-provider-"+a.Type)
	if !found || !strings.HasPrefix(rest, "_") && !strings.HasPrefix(rest, ".") || provider.CheckFilename(name) != nil {
		return false
	}
	const sumsEnd = "_SHA256SUMS"
	stem, kind := provider.CutDocumentSuffix(rest)
	switch kind {
	case "":
		return strings.HasSuffix(rest, sumsEnd) || strings.HasSuffix(rest, "_manifest.json")
	case provider.KindSignature:
		if keyID.MatchString(stem) {
			stem = stem[:strings.LastIndexByte(stem, '.')]
		}
		return strings.HasSuffix(stem, sumsEnd) || strings.HasSuffix(stem, ".zip") || strings.HasSuffix(rest, sumsEnd+".keys.asc")
	}
	return true
}

// keyID matches the ID or fingerprint of an OpenPGP key, which HashiCorp inserts before
// the suffix of signatures, as in _SHA256SUMS.72D7468F.sig.
var keyID = regexp.MustCompile(`\.[0-9A-Fa-f]{8,64}$`)

// writeDocument creates a file. If path has different content, it returns [ErrExists].
func writeDocument(path string, content []byte) error {
	f, err := atomicfile.Create(path, modeZip)
	if err != nil {
		return err
	}
	defer f.Discard()
	if _, err := f.Write(content); err != nil {
		return err
	}
	err = f.CommitNew()
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if fi, err := os.Stat(path); err == nil && !fi.Mode().IsRegular() {
		return exists(path, "is %s, not a document", kindOf(fi))
	}
	existing, err := bounded.OpenFile(path)
	if err != nil {
		return err
	}
	defer func() { _ = existing.Close() }()
	found, err := io.ReadAll(io.LimitReader(existing, int64(len(content))+1))
	if err == nil && !bytes.Equal(found, content) {
		err = exists(path, "has different content")
	}
	return err
}
