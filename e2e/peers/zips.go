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

// blockSize is the number of bytes of a program that are compressed together.
const blockSize = 1 << 20

// block is a part of a real program. Its packed form consists of complete deflate
// blocks without references to earlier data, so a decompressor accepts any sequence of
// blocks.
type block struct{ raw, packed []byte }

// readBlocks splits a program into blocks and compresses them like Go's zip writer.
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

// archive describes a package's zip and its content.
type archive struct {
	path   string
	digest digest.Digest
	size   int64
	// program is the digest of the executable.
	program  digest.Digest
	unpacked int64
}

// writeZip writes a package's zip, which contains a text file and an executable of
// about unpacked bytes. The executable consists of blocks in an order that depends on
// seed. Identical arguments produce identical zips.
func writeZip(path, executable string, blocks []block, unpacked int64, seed uint64) (made archive, err error) {
	// 1. Select the blocks.
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
	// 2. Write the file.
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

// dataDescriptor is the flag of an entry whose sizes follow its data. Programs that
// write archives in one pass, such as Go's zip writer, set this flag.
const dataDescriptor = 0x8

// lastBlock is an empty deflate block whose final bit is set.
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
