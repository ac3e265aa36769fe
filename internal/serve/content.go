package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/serve/spool"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/store"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// hashAge is the time during which a verified file is not hashed again if its metadata
// is unchanged.
const hashAge = time.Hour

// content presents a zip or document as an [io.ReadSeeker] for [http.ServeContent]. It opens
// nothing before the first Read, because HEAD requests need no content.
//
// A read from the start verifies the zip. If the digest is wrong, the Read that would
// complete the zip returns an error. A read of a stream from a different offset also
// verifies the zip, because it reads the skipped bytes. A read of a file from a
// different offset relies on the file's metadata, which shows that the file hasn't
// changed since it was verified. The metadata doesn't reveal disk corruption, but the
// next full response after hashAge does. If the file is in the store, it is then removed,
// so that the next response fetches the zip again.
type content struct {
	ctx  context.Context //nolint:containedctx // the context of the only request that reads the content
	size int64
	pos  int64
	// isSeekable reports whether reading can start at any offset without reading the bytes
	// before it.
	isSeekable bool
	// file is the verified zip file, or nil if the zip is read from a registry. blob is
	// the file's zip in the store, or nil if the file is not in the store.
	file io.ReaderAt
	blob *store.Blob
	// open opens a verifying stream from the registry.
	open func(ctx context.Context) (io.ReadCloser, error)

	digest digest.Digest
	name   string
	// hashed reports whether the file was verified recently. onVerified is called after
	// each verification and receives whether the digest is right.
	hashed     bool
	onVerified func(valid bool)
	// isVerifying reports whether src verifies the file.
	isVerifying bool
	src         io.Reader
	closer      io.Closer
	err         error
}

// content returns a zip as [content] from the nearest location.
func (s *Server) content(ctx context.Context, t storedPackage) (*content, error) {
	c := &content{ctx: ctx, size: t.zip.Size, digest: t.zip.Digest, name: t.pkg.Filename}
	_, c.hashed = s.hashed.Lookup(c.digest)
	c.onVerified = func(valid bool) {
		if valid {
			s.hashed.Put(c.digest, struct{}{})
		} else {
			s.hashed.Forget(c.digest)
		}
	}
	blob, kept := s.options.Store.Blob(ctx, t.zip.Digest)
	if s.options.Store != nil {
		s.options.Events.lookups("archive")(kept)
	}
	if kept {
		if blob.Size() == c.size && s.repositoryHas(ctx, t) {
			c.isSeekable, c.file, c.blob, c.closer = true, blob.File(), blob, blob
			return c, nil
		}
		_ = blob.Close()
	}
	if t.repo.Capabilities().BlobPath != nil {
		err := c.openFile(ctx, t)
		return c, err
	}
	c.open = func(ctx context.Context) (io.ReadCloser, error) { return s.openShared(ctx, t) }
	return c, nil
}

// repositoryHas reports whether the repository contains a zip. If the repository can't
// be queried, it returns true. The store contains the zips of all repositories. Without
// this check, a release could make a zip in a different repository readable by listing
// its digest. Each zip is checked once, and only if access is restricted.
func (s *Server) repositoryHas(ctx context.Context, t storedPackage) bool {
	key := contentKey{repository: t.repo.String(), reference: t.zip.Digest.String()}
	if _, known := s.owned.Lookup(key); known || s.options.Rules().AllowAll() {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, s.options.timeouts.stale)
	defer cancel()
	_, err := t.repo.Stat(ctx, t.zip)
	if err == nil {
		s.owned.Put(key, struct{}{})
	}
	return !errors.Is(err, repository.ErrNotFound) && !errors.Is(err, repository.ErrNoRepository)
}

// openShared opens a zip in a registry. If the server has a store, concurrent clients share
// one download, whose result is stored.
func (s *Server) openShared(ctx context.Context, t storedPackage) (io.ReadCloser, error) {
	open := func(ctx context.Context) (io.ReadCloser, int64, error) {
		body, err := openBlob(ctx, t.repo, t.zip, t.pkg.Filename)
		if err != nil {
			return nil, 0, err
		}
		return s.options.Store.Keep(t.zip.Digest, t.zip.Size, body), t.zip.Size, nil
	}
	if s.options.Store != nil {
		shared := s.downloads.join(contentKey{repository: t.repo.String(), reference: t.zip.Digest.String()}, t.pkg.Filename, open)
		_, err := shared.Size(ctx)
		if err == nil {
			return sums.NewReadCloser(shared.Reader(ctx), t.pkg.Filename, t.zip.Size, t.zip.Digest), nil
		}
		shared.Release()
		if !errors.Is(err, spool.ErrNotStored) {
			return nil, err
		}
	}
	body, _, err := open(ctx)
	return body, err
}

// openBlob opens a blob for a client through a verifying reader. It uses a dedicated
// connection, because an HTTP/2 client buffers up to 4 MiB of each unread body.
func openBlob(ctx context.Context, repo repository.Reader, d ocispec.Descriptor, name string) (io.ReadCloser, error) {
	return repository.Verified(httpclient.WithDedicatedConnection(ctx), repo, d, name)
}

// openFile opens a zip in an image layout.
func (c *content) openFile(ctx context.Context, t storedPackage) error {
	size, err := t.repo.Stat(ctx, t.zip)
	if err != nil {
		return err
	}
	if size != c.size {
		return &sums.SizeError{Name: c.name, Got: size, Want: c.size}
	}
	body, err := t.repo.Blob(ctx, t.zip)
	if err != nil {
		return err
	}
	file, ok := body.(io.ReaderAt)
	if !ok {
		_ = body.Close()
		return fmt.Errorf("opening %s: not a regular file", c.name)
	}
	c.isSeekable, c.file, c.closer = true, file, body
	return nil
}

// Seek implements [io.Seeker]. It only records the offset.
func (c *content) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += c.pos
	case io.SeekEnd:
		offset += c.size
	}
	if offset < 0 {
		return 0, errors.New("negative offset")
	}
	if offset != c.pos {
		c.src, c.isVerifying = nil, false
	}
	c.pos = offset
	return offset, nil
}

// Read implements [io.Reader].
func (c *content) Read(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	if c.src == nil {
		if c.err = c.openAtOffset(); c.err != nil {
			return 0, c.err
		}
	}
	n, err := c.src.Read(p)
	c.pos += int64(n)
	if _, wrong := errors.AsType[*sums.MismatchError](err); c.isVerifying && (wrong || c.pos == c.size) {
		c.onVerified(!wrong)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		c.err = err
	}
	return n, err
}

// openAtOffset opens the content at the current offset.
func (c *content) openAtOffset() error {
	if c.file != nil {
		c.src, c.isVerifying = bounded.Reader(c.ctx, io.NewSectionReader(c.file, c.pos, c.size-c.pos)), c.pos == 0 && !c.hashed
		switch {
		case c.isVerifying && c.blob != nil:
			c.src = c.blob.Verified(c.ctx, c.name)
		case c.isVerifying:
			c.src = sums.NewReader(c.src, c.name, c.size, c.digest)
		}
		return nil
	}
	body, err := c.open(c.ctx)
	if err != nil {
		return err
	}
	c.src, c.closer = body, body
	// The skipped bytes are read because the digest covers them.
	if _, err := io.CopyN(io.Discard, body, c.pos); err != nil {
		return fmt.Errorf("skipping %d bytes of %s: %w", c.pos, c.name, err)
	}
	return nil
}

// Close closes the opened content.
func (c *content) Close() error {
	if c.closer == nil {
		return nil
	}
	return c.closer.Close()
}
