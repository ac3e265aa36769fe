//go:build unix

package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"crypto/sha256"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"runtime"

	"github.com/opencontainers/go-digest"
	"golang.org/x/sync/errgroup"
)

// blockSize is how much of a program is deflated at a time.
const blockSize = 1 << 20

// block is a part of a real program. Its packed form is whole blocks of deflate
// that refer to nothing before them, so any sequence of them can be inflated.
type block struct{ raw, packed []byte }

// readBlocks deflates a program in parts, as the zip writer of Go would.
func readBlocks(ctx context.Context, program string) ([]block, error) {
	content, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	blocks := make([]block, len(content)/blockSize)
	if len(blocks) == 0 {
		return nil, fmt.Errorf("%s has less than %d bytes", program, blockSize)
	}
	workers, ctx := errgroup.WithContext(ctx)
	workers.SetLimit(runtime.NumCPU())
	for i := range blocks {
		workers.Go(func() error {
			raw := content[i*blockSize : (i+1)*blockSize]
			var packed bytes.Buffer
			w, err := flate.NewWriter(&packed, flate.DefaultCompression)
			if err == nil {
				_, err = w.Write(raw)
			}
			if err == nil {
				err = w.Flush()
			}
			blocks[i] = block{raw, packed.Bytes()}
			if err == nil {
				err = ctx.Err()
			}
			return err
		})
	}
	return blocks, workers.Wait()
}

// archive is a package's zip, and what it holds.
type archive struct {
	path   string
	digest digest.Digest
	size   int64
	// program is the digest of the executable.
	program  digest.Digest
	unpacked int64
}

// writeZip makes a package's zip: an executable of about so many bytes that
// consists of blocks in an order of its own for each seed, and a text. Equal
// arguments give equal zips.
func writeZip(path, executable string, blocks []block, unpacked int64, seed uint64) (made archive, err error) {
	// 1. Which blocks.
	random := rand.New(rand.NewPCG(seed, 0))
	var chosen []block
	checksum, hash := crc32.NewIEEE(), sha256.New()
	header := &zip.FileHeader{Name: executable, Method: zip.Deflate, Flags: dataDescriptor}
	header.SetMode(0o755)
	for made.unpacked < unpacked {
		b := blocks[random.IntN(len(blocks))]
		chosen = append(chosen, b)
		_, _ = checksum.Write(b.raw)
		_, _ = hash.Write(b.raw)
		header.CompressedSize64 += uint64(len(b.packed))
		header.UncompressedSize64 += uint64(len(b.raw))
		made.unpacked += int64(len(b.raw))
	}
	header.CRC32 = checksum.Sum32()
	header.CompressedSize64 += uint64(len(lastBlock))
	made.path, made.program = path, digest.NewDigest(digest.SHA256, hash)
	// 2. The file.
	f, err := os.Create(path)
	if err != nil {
		return made, err
	}
	defer func() {
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
	}()
	hash = sha256.New()
	if err := writeEntries(io.MultiWriter(f, hash), header, append(chosen, block{packed: lastBlock})); err != nil {
		return made, err
	}
	made.digest = digest.NewDigest(digest.SHA256, hash)
	made.size, err = f.Seek(0, io.SeekCurrent)
	return made, err
}

// dataDescriptor is the flag of an entry whose sizes follow it: those who make
// archives in one pass, as Go does, set it.
const dataDescriptor = 0x8

// lastBlock is an empty block of deflate that says that none follows.
var lastBlock = []byte{0x01, 0x00, 0x00, 0xff, 0xff}

func writeEntries(to io.Writer, header *zip.FileHeader, blocks []block) error {
	w := zip.NewWriter(to)
	license, err := w.Create("LICENSE")
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(license, "For measurements only."); err != nil {
		return err
	}
	program, err := w.CreateRaw(header)
	if err != nil {
		return err
	}
	for _, b := range blocks {
		if _, err := program.Write(b.packed); err != nil {
			return err
		}
	}
	return w.Close()
}
