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
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// hashAge is how long a file that was hashed need not be again, while its record says
// that nobody has touched it.
const hashAge = time.Hour

// content is a zip as [http.ServeContent] reads it: it seeks, and then reads from
// there. Nothing is opened before the first Read, as HEAD needs nothing.
//
// What is read from the start is verified: the Read that would complete it gives an
// error instead. What is read from another place is verified too where it is a stream,
// by reading over what is before it. Of a file a record says that it is right and was
// not touched; so the disk alone could have changed it, and the hour's first answer
// with all of it finds that.
type content struct {
	ctx  context.Context //nolint:containedctx // it is that of the one request that reads
	size int64
	at   int64
	// random tells that reading may begin anywhere for nothing.
	random bool
	// file is the zip where it is one, known to be right.
	file io.ReaderAt
	// open opens the stream of a registry, verified.
	open func(ctx context.Context) (io.ReadCloser, error)

	digest digest.Digest
	name   string
	// hashed tells that the file was read whole not long ago; whole is called when it is.
	hashed     bool
	onVerified func()
	// verifies tells that src is a file that is hashed.
	isVerifying bool
	src         io.Reader
	closer      io.Closer
	err         error
}

// content finds a zip.
func (s *Server) content(ctx context.Context, t storedPackage) (*content, error) {
	c := &content{ctx: ctx, size: t.zip.Size, digest: t.zip.Digest, name: t.pkg.Filename}
	_, c.hashed = s.hashed.Lookup(c.digest)
	c.onVerified = func() { s.hashed.Put(c.digest, struct{}{}) }
	blob, kept := s.options.Store.Blob(ctx, t.zip.Digest)
	if s.options.Store != nil {
		s.options.Events.lookups("archive")(kept)
	}
	if kept {
		if blob.Size() == c.size && s.repositoryHas(ctx, t) {
			c.random, c.file, c.closer = true, blob.File(), blob
			return c, nil
		}
		_ = blob.Close()
	}
	if t.repo.Traits().BlobPath != nil {
		err := c.openFile(ctx, t)
		return c, err
	}
	c.open = func(ctx context.Context) (io.ReadCloser, error) {
		body, err := openBlob(ctx, t.repo, t.zip, c.name)
		if err != nil {
			return nil, err
		}
		return s.options.Store.Keep(c.digest, c.size, body), nil
	}
	return c, nil
}

// has reports whether the repository of a zip has it, or can't be asked. The store has the
// zips of all repositories, so a release that only states the digest of another one's zip
// must not make it readable. Each zip is asked for once, and not if everyone may read
// everything.
func (s *Server) repositoryHas(ctx context.Context, t storedPackage) bool {
	key := contentKey{t.repo.String(), t.zip.Digest.String()}
	if _, known := s.owned.Lookup(key); known || s.options.Rules().AllowAll() {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, staleWait)
	defer cancel()
	_, err := t.repo.Stat(ctx, t.zip.Digest)
	if err == nil {
		s.owned.Put(key, struct{}{})
	}
	return !errors.Is(err, repository.ErrNotFound) && !errors.Is(err, repository.ErrNoRepository)
}

// openBlob opens a blob that is verified and sent to a client. It uses a separate
// connection, because an HTTP/2 client buffers up to 4 MiB of each unread body.
func openBlob(ctx context.Context, repo repository.Reader, d ocispec.Descriptor, name string) (io.ReadCloser, error) {
	return repository.Verified(httpclient.WithDedicatedConnection(ctx), repo, d, name)
}

// stored reports whether the store has a zip.
func (s *Server) isInStore(ctx context.Context, t storedPackage) bool {
	blob, has := s.options.Store.Blob(ctx, t.zip.Digest)
	if has {
		_ = blob.Close()
	}
	return has
}

// openFile opens the file of a layout, after a look at its record.
func (c *content) openFile(ctx context.Context, t storedPackage) error {
	size, err := t.repo.Stat(ctx, c.digest)
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
		return fmt.Errorf("opening %s: it is no file, though it has a path", c.name)
	}
	c.random, c.file, c.closer = true, file, body
	return nil
}

// Seek implements [io.Seeker]. It moves nothing but a number.
func (c *content) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += c.at
	case io.SeekEnd:
		offset += c.size
	}
	if offset < 0 {
		return 0, errors.New("a place before the start")
	}
	if offset != c.at {
		c.src, c.isVerifying = nil, false
	}
	c.at = offset
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
	if c.at += int64(n); c.at == c.size && c.isVerifying {
		c.onVerified()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		c.err = err
	}
	return n, err
}

// begin opens what is read from here on.
func (c *content) openAtOffset() error {
	if c.file != nil {
		section := bounded.Reader(c.ctx, io.NewSectionReader(c.file, c.at, c.size-c.at))
		if c.src = section; c.at == 0 && !c.hashed {
			c.src, c.isVerifying = sums.NewReader(section, c.name, c.size, c.digest), true
		}
		return nil
	}
	body, err := c.open(c.ctx)
	if err != nil {
		return err
	}
	c.src, c.closer = body, body
	// What the client has is read over: it is part of what is verified.
	if _, err := io.CopyN(io.Discard, body, c.at); err != nil {
		return fmt.Errorf("reading over %d bytes of %s: %w", c.at, c.name, err)
	}
	return nil
}

// Close closes what was opened.
func (c *content) Close() error {
	if c.closer == nil {
		return nil
	}
	return c.closer.Close()
}
