package bundle

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/internal/transfer"
)

// file is a small file that each part contains.
type file struct {
	name string
	data []byte
}

// commonFiles returns the files that each part contains. These are the bundle's
// manifest, its signature, and the files that make the extracted parts an image layout.
func commonFiles(m Manifest, sign func([]byte) ([]byte, error)) ([]file, error) {
	manifest, err := encode(m)
	if err != nil {
		return nil, err
	}
	if len(manifest) > maxManifest {
		return nil, fmt.Errorf("the bundle contains too many files: %s exceeds %d bytes", manifestName, maxManifest)
	}
	files := []file{{manifestName, manifest}}
	if sign != nil {
		signature, err := sign(manifest)
		if err != nil {
			return nil, err
		}
		files = append(files, file{signatureName, signature})
	}
	layout, err := layoutFiles(m)
	return append(files, layout...), err
}

// layoutFiles returns the files that make the extracted parts an image layout.
func layoutFiles(m Manifest) ([]file, error) {
	marker, err := json.Marshal(ocispec.ImageLayout{Version: ocispec.ImageLayoutVersion})
	if err != nil {
		return nil, err
	}
	index, err := json.Marshal(layoutIndex(m))
	return []file{{ocispec.ImageLayoutFile, marker}, {ocispec.ImageIndexFile, index}}, err
}

// layoutIndex returns the index of the image layout. Its references are the addresses
// with their tags, such as "registry.opentofu.org/hashicorp/null:3.2.4".
func layoutIndex(m Manifest) ocispec.Index {
	index := ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex, Manifests: []ocispec.Descriptor{}}
	for _, r := range m.Repositories {
		for _, t := range r.Tags {
			d := t.descriptor()
			d.Annotations = map[string]string{ocispec.AnnotationRefName: r.Address + ":" + t.Name}
			index.Manifests = append(index.Manifests, d)
		}
	}
	return index
}

// blobName returns the file name of a manifest or blob.
func blobName(d digest.Digest) string {
	return path.Join(ocispec.ImageBlobsDir, d.Algorithm().String(), d.Encoded())
}

// partWriter writes one part.
type partWriter struct {
	name    string
	files   []file
	content []item
	open    func(context.Context, item) (io.ReadCloser, error)
}

// write writes the part, unless an earlier run completed it.
func (w partWriter) write(ctx context.Context) (Part, error) {
	size := int64(2 * block)
	for _, f := range w.files {
		size += tarSize(int64(len(f.data)))
	}
	for _, i := range w.content {
		size += tarSize(i.size)
	}
	p := Part{File: w.name, Size: size}
	switch existing, err := os.Stat(w.name); {
	case err == nil && existing.Size() == size && w.isSame():
		p.Existed = true
		return p, nil
	case err == nil:
		return p, fmt.Errorf("the file already exists with different content: %w", fs.ErrExist)
	case !errors.Is(err, fs.ErrNotExist):
		return p, err
	}
	dir := filepath.Dir(w.name)
	atomicfile.Sweep(dir)
	if err := atomicfile.CheckFreeSpace(dir, size); err != nil {
		return p, err
	}
	return p, atomicfile.Write(w.name, 0o644, func(to io.Writer) error { return w.writeTo(ctx, to) })
}

// isSame reports whether the existing file is a part of the same bundle. Comparing the
// manifest is sufficient, because a file doesn't get its final name until it is
// complete.
func (w partWriter) isSame() bool {
	f, err := os.Open(w.name)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	header := make([]byte, block+len(w.files[0].data))
	var expected bytes.Buffer
	if _, err := io.ReadFull(f, header); err != nil {
		return false
	}
	archive := tar.NewWriter(&expected)
	return w.files[0].writeTo(archive) == nil && archive.Flush() == nil && bytes.HasPrefix(expected.Bytes(), header)
}

func (w partWriter) writeTo(ctx context.Context, to io.Writer) error {
	archive := tar.NewWriter(to)
	for _, f := range w.files {
		if err := f.writeTo(archive); err != nil {
			return err
		}
	}
	for _, i := range w.content {
		if err := w.writeItem(ctx, archive, i); err != nil {
			return fmt.Errorf("adding %s: %w", i.digest, err)
		}
	}
	return archive.Close()
}

func (f file) writeTo(archive *tar.Writer) error {
	if err := archive.WriteHeader(header(f.name, int64(len(f.data)))); err != nil {
		return err
	}
	_, err := archive.Write(f.data)
	return err
}

func (w partWriter) writeItem(ctx context.Context, archive *tar.Writer, i item) error {
	content, err := w.open(ctx, i)
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }()
	if err := archive.WriteHeader(header(blobName(i.digest), i.size)); err != nil {
		return err
	}
	_, err = transfer.Copy(archive, bounded.Reader(ctx, content), i.size)
	return err
}

// header returns the header of a file. It contains no timestamps, so equal content
// results in identical archives.
func header(name string, size int64) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o644}
}
