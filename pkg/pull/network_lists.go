package pull

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

const (
	// indexName is the name of the document that lists the versions of a provider.
	indexName = "index.json"
	// maxList is the maximum size of a document in bytes. maxListValues is the maximum
	// number of JSON values in it. Both are sufficient for about 10,000 versions.
	maxList       = 4 << 20
	maxListValues = 64 << 10
)

// mirrorLists manages the JSON documents of a network mirror.
type mirrorLists struct {
	dir string
	// mu synchronizes goroutines in this process without polling.
	mu sync.Mutex
}

// lists contains the documents that list a package. Missing documents are empty.
type lists struct {
	index                  versionsList
	version                archivesList
	indexPath, versionPath string
}

// has reports whether both documents list a package with its zh: hash and the given h1:
// hashes. If h1 is empty, any h1: hash is accepted. If the documents contradict the
// package, has returns an error.
func (m *mirrorLists) has(p provider.Package, h1 []string) (bool, error) {
	existing, err := m.read(p)
	if err != nil {
		return false, err
	}
	merged, err := existing.version.with(p, h1)
	if err != nil {
		return false, exists(existing.versionPath, "%v", err)
	}
	_, listed := existing.index.Versions[p.Version.String()]
	return listed && merged.hasH1(p) && existing.version.equal(merged), nil
}

// add adds a package to the documents. It writes index.json last, so this document
// never lists a version whose document is missing. Existing entries are kept.
func (m *mirrorLists) add(ctx context.Context, p provider.Package, h1 []string) error {
	return m.locked(ctx, func() error {
		existing, err := m.read(p)
		if err != nil {
			return err
		}
		merged, err := existing.version.with(p, h1)
		if err != nil {
			return exists(existing.versionPath, "%v", err)
		}
		if !merged.equal(existing.version) {
			if err := writeList(existing.versionPath, merged); err != nil {
				return err
			}
		}
		if _, listed := existing.index.Versions[p.Version.String()]; listed {
			return nil
		}
		return writeList(existing.indexPath, existing.index.with(p.Version))
	})
}

// remove removes versions of a provider from index.json, and then deletes their
// documents, so that index.json never lists a version whose document is missing. It
// returns the versions that were listed. It keeps the zips.
func (m *mirrorLists) remove(ctx context.Context, a provider.Address, versions []provider.Version) (removed []provider.Version, err error) {
	if len(versions) == 0 {
		return nil, nil
	}
	path, err := networkPath(m.dir, a, indexName)
	if _, missing := os.Lstat(path); err != nil || missing != nil {
		return nil, err
	}
	err = m.locked(ctx, func() error {
		var index versionsList
		if err := readList(path, &index); err != nil {
			return err
		}
		for _, v := range versions {
			if _, listed := index.Versions[v.String()]; listed {
				delete(index.Versions, v.String())
				removed = append(removed, v)
			}
		}
		if len(removed) == 0 {
			return nil
		}
		if err := writeList(path, index); err != nil {
			return err
		}
		for _, v := range removed {
			document, err := networkPath(m.dir, a, v.String()+".json")
			if err == nil {
				err = os.Remove(document)
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("removing denied versions from %s: %w", path, err)
	}
	return removed, nil
}

func (m *mirrorLists) read(p provider.Package) (existing lists, err error) {
	if existing.indexPath, err = networkPath(m.dir, p.Address, indexName); err != nil {
		return existing, err
	}
	if existing.versionPath, err = networkPath(m.dir, p.Address, p.Version.String()+".json"); err != nil {
		return existing, err
	}
	return existing, errors.Join(readList(existing.indexPath, &existing.index), readList(existing.versionPath, &existing.version))
}

// locked calls do while no other process writes the mirror's documents.
func (m *mirrorLists) locked(ctx context.Context, do func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return atomicfile.WithLock(ctx, m.dir, do)
}

// readList reads a document. If the document doesn't exist, into is unchanged. If the
// document is invalid or contains unknown fields, readList returns [ErrExists], because
// rewriting the document would lose data.
func readList(path string, into any) error {
	fi, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !fi.Mode().IsRegular() {
		return exists(path, "is not a regular file")
	}
	data, err := bounded.ReadFile(path, maxList)
	if large, ok := errors.AsType[*bounded.TooLargeError](err); ok {
		return exists(path, "is not a network mirror document: exceeds %d bytes", large.Limit)
	}
	if err != nil {
		return err
	}
	if err := decodeList(data, into); err != nil {
		return exists(path, "is corrupt or not a network mirror document: %v", err)
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
		return errors.New("unexpected end of JSON")
	} else if err != nil {
		return bounded.JSONError(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("unexpected text after the JSON object")
	}
	return nil
}

// writeList writes a document in the same form as "tofu providers mirror".
func writeList(path string, list any) error {
	data, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(path, modeZip, data)
}
