package access

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
)

const (
	// keySize is the minimum size of a key in bytes. It is the size of the hash, as RFC
	// 2104 recommends.
	keySize = 32
	// maxKeyFile limits the size of a key file in bytes. maxKeys limits the number of
	// keys in the file, because each key is tried for every token.
	maxKeyFile = 64 << 10
	maxKeys    = 16
	// minDistinct is the minimum number of distinct bytes in a key. Random keys of 32
	// bytes almost always have more distinct bytes, but placeholders such as 00000000…
	// don't.
	minDistinct = 16
)

// ArchiveKey signs links to archives. The zero value accepts no links.
type ArchiveKey struct {
	// keys verify links. The first key also signs them.
	keys [][]byte
}

// NewArchiveKey returns a random key for a single server. Other servers don't accept
// its links, and neither does the same server after a restart.
func NewArchiveKey() ArchiveKey {
	key := make([]byte, keySize)
	_, _ = rand.Read(key) // never fails
	return ArchiveKey{[][]byte{key}}
}

// ReadArchiveKey reads a key file that replicas share. Each line contains one key of at
// least 32 random bytes in hexadecimal form. The first key signs links. All keys verify
// links, so that keys can be rotated. Blank lines and lines starting with # are
// ignored. Except on Windows, the file's mode must not allow other users to read it or
// the group to write it. The error is a file system error, a *[stricthcl.Error], or an
// error about the mode.
func ReadArchiveKey(path string) (ArchiveKey, error) {
	info, err := os.Stat(path)
	if err != nil {
		return ArchiveKey{}, err
	}
	if mode := info.Mode().Perm(); mode&0o027 != 0 && runtime.GOOS != "windows" {
		return ArchiveKey{}, fmt.Errorf("%s has mode %04o: only its owner may write to it, and only its owner and group may read it (chmod 600)", path, mode)
	}
	data, err := bounded.ReadFileOrPipe(path, maxKeyFile)
	if err != nil {
		return ArchiveKey{}, err
	}
	return parseArchiveKey(path, data)
}

func parseArchiveKey(file string, data []byte) (k ArchiveKey, err error) {
	pos := hcl.Range{Filename: file, Start: hcl.Pos{Column: 1}}
	for line := range strings.Lines(string(data)) {
		pos.Start.Line++
		text := strings.TrimSpace(line)
		if text == "" || text[0] == '#' {
			continue
		}
		key, err := hex.DecodeString(text)
		distinct := map[byte]bool{}
		for _, b := range key {
			distinct[b] = true
		}
		switch {
		case err != nil || len(key) < keySize:
			return ArchiveKey{}, stricthcl.Errorf(pos, "invalid key: want at least 64 hexadecimal digits, as printed by openssl rand -hex 32")
		case len(distinct) < minDistinct:
			return ArchiveKey{}, stricthcl.Errorf(pos, "the key is not random")
		case len(k.keys) == maxKeys:
			return ArchiveKey{}, stricthcl.Errorf(pos, "the file contains more than %d keys", maxKeys)
		}
		k.keys = append(k.keys, key)
	}
	if len(k.keys) == 0 {
		pos.Start.Line = 1
		return ArchiveKey{}, stricthcl.Errorf(pos, "the file contains no key")
	}
	return k, nil
}

// Format implements [fmt.Formatter]. It prevents keys from being printed.
func (k ArchiveKey) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, "(secret)") }
