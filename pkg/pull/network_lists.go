package pull

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

const (
	// indexName is the document of a provider that says which versions there are.
	indexName = "index.json"
	// maxList bounds a document, in bytes, and maxListValues the values in it: those
	// of a provider with some ten thousand versions.
	maxList       = 4 << 20
	maxListValues = 64 << 10
)

// mirrorLists are the JSON documents of a network mirror.
type mirrorLists struct {
	dir string
	// mu lets the goroutines of this process wait for each other without polling.
	mu sync.Mutex
}

// lists are the documents that a package is in. What is not there is empty.
type lists struct {
	index                  versionsList
	version                archivesList
	indexPath, versionPath string
}

// has reports whether a package is in both documents, with its zh and an h1: the
// given one, or any where it is empty. Documents that contradict are an error.
func (m *mirrorLists) has(p provider.Package, h1 string) (bool, error) {
	there, err := m.read(p)
	if err != nil {
		return false, err
	}
	merged, err := there.version.with(p, h1)
	if err != nil {
		return false, exists(there.versionPath, "%v", err)
	}
	_, listed := there.index.Versions[p.Version.String()]
	return listed && merged.hasH1(p) && there.version.equal(merged), nil
}

// add lists a package. index.json is written last, so that at no time it names a
// version of which the rest is not there. What is listed already stays.
func (m *mirrorLists) add(ctx context.Context, p provider.Package, h1 string) error {
	return m.locked(ctx, func() error {
		there, err := m.read(p)
		if err != nil {
			return err
		}
		merged, err := there.version.with(p, h1)
		if err != nil {
			return exists(there.versionPath, "%v", err)
		}
		if !merged.equal(there.version) {
			if err := writeList(there.versionPath, merged); err != nil {
				return err
			}
		}
		if _, listed := there.index.Versions[p.Version.String()]; listed {
			return nil
		}
		return writeList(there.indexPath, there.index.with(p.Version))
	})
}

func (m *mirrorLists) read(p provider.Package) (there lists, err error) {
	if there.indexPath, err = networkPath(m.dir, p.Address, indexName); err != nil {
		return there, err
	}
	if there.versionPath, err = networkPath(m.dir, p.Address, p.Version.String()+".json"); err != nil {
		return there, err
	}
	return there, errors.Join(readList(there.indexPath, &there.index), readList(there.versionPath, &there.version))
}

// locked runs do while no other process writes documents of the mirror.
func (m *mirrorLists) locked(ctx context.Context, do func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return atomicfile.WithLock(ctx, m.dir, do)
}

// readList reads a document; one that is not there leaves into as it is. What is
// no such document, or has more in it than is known, is [ErrExists]: it
// could not be written again without a loss.
func readList(path string, into any) error {
	fi, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !fi.Mode().IsRegular() {
		return exists(path, "is no regular file, where a document of a network mirror belongs")
	}
	data, err := bounded.ReadFile(path, maxList)
	if large, ok := errors.AsType[*bounded.TooLargeError](err); ok {
		return exists(path, "is no document of a network mirror: it has more than %d bytes", large.Limit)
	}
	if err != nil {
		return err
	}
	if err := decodeList(data, into); err != nil {
		return exists(path, "is damaged or no document of a network mirror: %v", err)
	}
	return nil
}

func decodeList(data []byte, into any) error {
	if err := bounded.CheckJSON(data, maxListValues); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errors.New("it ends too early")
	} else if err != nil {
		return bounded.JSONError(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more behind it")
	}
	return nil
}

// writeList replaces a document, in the form that "tofu providers mirror" gives it.
func writeList(path string, list any) error {
	data, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(path, modeZip, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}
