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
	"slices"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// writeEvidence puts the documents about the release and about each package
// beside its zip, under their own names, and adds their paths to the results.
func writeEvidence(ctx context.Context, src provider.Source, r provider.Release, results []Result) error {
	shared := r.Documents
	if about := provider.CapabilitiesOf(src).Documents; about != nil {
		more, err := about(ctx, r)
		if err != nil {
			return err
		}
		shared = slices.Concat(shared, more)
	}
	for i, result := range results {
		for _, d := range slices.Concat(result.Package.Documents, shared) {
			if !provider.IsEvidenceName(d.Name, r.Address) {
				results[i].Skipped = append(results[i].Skipped, d.Name)
				continue
			}
			content, err := d.Read(ctx)
			if err != nil {
				return err
			}
			path := filepath.Join(filepath.Dir(result.Path), d.Name)
			if err := writeDocument(path, content); err != nil {
				return fmt.Errorf("writing evidence: %w", err)
			}
			results[i].Evidence = append(results[i].Evidence, path)
		}
	}
	return nil
}

// writeDocument makes a file; one that is there and equal is left alone.
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
		return exists(path, "is %s where evidence belongs", kindOf(fi))
	}
	there, err := bounded.OpenFile(path)
	if err != nil {
		return err
	}
	defer func() { _ = there.Close() }()
	found, err := io.ReadAll(io.LimitReader(there, int64(len(content))+1))
	if err == nil && !bytes.Equal(found, content) {
		err = exists(path, "is there with other contents")
	}
	return err
}
