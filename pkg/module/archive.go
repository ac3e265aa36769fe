package module

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/klauspost/compress/zip"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/internal/git"
	"github.com/tofu-oci/tofu-oci/internal/packagezip"
	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

const (
	// maxArchiveFiles limits the number of files in a tar archive. For zips, the limits
	// of package packagezip apply.
	maxArchiveFiles = 100_000
	// maxArchiveContents limits the total size of the files in a tar archive, in bytes.
	maxArchiveContents = 4 << 30
	// zipMagic and gzipMagic are the first bytes of zips and gzip files.
	zipMagic, gzipMagic = "PK", "\x1f\x8b"
	// xzMagic is the longest sequence of first bytes that is detected.
	xzMagic = "\xfd7zXZ\x00"
)

// unsupportedFormat returns the name of an archive format that OpenTofu supports, but this
// package doesn't. For other content, it returns "".
func unsupportedFormat(start []byte) string {
	for magic, name := range map[string]string{xzMagic: "xz", "BZh": "bzip2", "\x28\xb5\x2f\xfd": "zstd", "7z\xbc\xaf\x27\x1c": "7z"} {
		if strings.HasPrefix(string(start), magic) {
			return name
		}
	}
	return ""
}

// readArchive downloads a zip or a gzip-compressed tar archive to a temporary file.
func (l location) readArchive(ctx context.Context, name string, progress provider.Progress, open func() (io.ReadCloser, error)) (f fetched, err error) {
	spool, err := atomicfile.NewScratchFile("", -1)
	if err != nil {
		return f, err
	}
	f.close = func() { _ = spool.Close() }
	defer func() {
		if err != nil {
			f.close()
			err = fmt.Errorf("reading %s: %w", name, err)
		}
	}()
	err = transfer.Retrier{Progress: progress}.Do(ctx, "fetching "+name, func() error {
		if err := spool.Reset(); err != nil {
			return err
		}
		body, err := open()
		if err != nil {
			return err
		}
		body = transfer.Watch(progress, l.pkg, -1, body)
		defer func() { _ = body.Close() }()
		start := bufio.NewReader(bounded.ReadCloser(ctx, body))
		magic, err := start.Peek(len(xzMagic))
		format := unsupportedFormat(magic)
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			return err
		case format != "":
			return provider.Errorf(provider.Refused, "%s archives are not supported; want a zip or a gzip-compressed tar archive", format)
		case strings.HasPrefix(string(magic), gzipMagic):
			f.files, err = spoolTar(spool, io.LimitReader(start, artifact.MaxZipSize))
			return err
		case !strings.HasPrefix(string(magic), zipMagic):
			return provider.Errorf(provider.Unverified, "content is neither a zip nor a gzip-compressed tar archive")
		}
		n, err := io.Copy(spool, io.LimitReader(start, artifact.MaxZipSize+1))
		if err == nil && n > artifact.MaxZipSize {
			err = provider.Errorf(provider.Refused, "archive exceeds %d bytes", int64(artifact.MaxZipSize))
		}
		if err == nil {
			f.files, err = zipFiles(spool, n)
		}
		return err
	})
	return f, err
}

func zipFiles(spool *atomicfile.ScratchFile, size int64) ([]File, error) {
	if _, err := packagezip.Open(spool, size); err != nil {
		return nil, err
	}
	r, err := zip.NewReader(spool, size)
	if err != nil {
		return nil, err
	}
	var files []File
	for _, e := range r.File {
		if !e.Mode().IsDir() {
			open := func(context.Context) (io.ReadCloser, error) { return e.Open() }
			size := int64(e.UncompressedSize64) //nolint:gosec // packagezip limits the size
			files = append(files, File{Path: e.Name, Executable: e.Mode()&0o111 != 0, Size: size, Open: open})
		}
	}
	return files, nil
}

// spoolTar writes the contents of all files in a tar archive to a single file. Links to
// files and directories in the archive are replaced with copies.
func spoolTar(spool *atomicfile.ScratchFile, r io.Reader) (files []File, err error) {
	unzipped, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	// The limit includes headers and padding.
	archive := tar.NewReader(io.LimitReader(unzipped, maxArchiveContents))
	var offset int64
	links := map[string]string{}
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return expandLinks(files, links)
		}
		if err != nil {
			return nil, err
		}
		switch h.Typeflag {
		case tar.TypeDir, tar.TypeXGlobalHeader:
			continue
		case tar.TypeSymlink, tar.TypeLink:
			name := path.Clean(h.Name)
			if _, exists := links[name]; exists {
				return nil, provider.Errorf(provider.Unverified, "archive contains %q twice", h.Name)
			}
			if len(links) == maxArchiveFiles {
				return nil, provider.Errorf(provider.Unverified, "archive has more than %d links", maxArchiveFiles)
			}
			if links[name] = path.Clean(h.Linkname); h.Typeflag == tar.TypeSymlink && !path.IsAbs(h.Linkname) {
				links[name] = path.Join(path.Dir(name), h.Linkname) //nolint:gosec // ExpandLinks looks the path up in the archive
			}
			continue
		case tar.TypeReg:
		default:
			return nil, provider.Errorf(provider.Unverified, "%q is neither a file, a directory, nor a link", h.Name)
		}
		if len(files) == maxArchiveFiles {
			return nil, provider.Errorf(provider.Unverified, "archive has more than %d files", maxArchiveFiles)
		}
		if h.Size > maxArchiveContents-offset { // a sparse file can be larger than the archive
			return nil, provider.Errorf(provider.Unverified, "archive contains more than %d bytes", int64(maxArchiveContents))
		}
		if _, err := io.CopyN(spool, archive, h.Size); err != nil {
			return nil, err
		}
		at, size := offset, h.Size
		offset += size
		files = append(files, File{Path: path.Clean(h.Name), Executable: h.Mode&0o111 != 0, Size: size, Open: func(context.Context) (io.ReadCloser, error) {
			return io.NopCloser(io.NewSectionReader(spool, at, size)), nil
		}})
	}
}

// expandLinks replaces links with copies of the files to which they refer, and sorts the
// files by path.
func expandLinks(files []File, links map[string]string) ([]File, error) {
	return git.ExpandLinks(files, links, git.Options{MaxEntries: maxArchiveFiles, MaxContents: maxArchiveContents})
}
