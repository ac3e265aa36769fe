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
	// keySize is the least size of a key, in bytes: that of the hash, by RFC 2104.
	keySize = 32
	// maxKeyFile bounds a file of keys, in bytes, and maxKeys the keys in it. Each is
	// tried for a token.
	maxKeyFile = 64 << 10
	maxKeys    = 16
	// minDifferent is how many different bytes a key has to have. Of 32 random ones
	// fewer than 16 are hardly ever the same; 00000000… is a placeholder.
	minDistinct = 16
)

// ArchiveKey signs the addresses of archives. The zero value accepts none.
type ArchiveKey struct {
	// keys has the one that signs first; all verify.
	keys [][]byte
}

// NewArchiveKey makes a key of random bytes, for a server that is alone: no other one,
// and not itself after a restart, accepts what it signs.
func NewArchiveKey() ArchiveKey {
	key := make([]byte, keySize)
	_, _ = rand.Read(key) // it never fails
	return ArchiveKey{[][]byte{key}}
}

// ReadArchiveKey reads a file that replicas share: a key a line, of at least 32 random
// bytes in hexadecimal digits. The first signs, and all verify, so that a key can be
// exchanged. Empty lines and those with a # in front don't count. A file that others
// may read or its group may change is refused, but on Windows. Errors are those of
// the file system, *[stricthcl.Error], and one about the mode.
func ReadArchiveKey(path string) (ArchiveKey, error) {
	info, err := os.Stat(path)
	if err != nil {
		return ArchiveKey{}, err
	}
	if mode := info.Mode().Perm(); mode&0o027 != 0 && runtime.GOOS != "windows" {
		return ArchiveKey{}, fmt.Errorf("%s has mode %04o: nobody but its owner may write it, and others may not read it (chmod 600)", path, mode)
	}
	data, err := bounded.ReadFileOrPipe(path, maxKeyFile)
	if err != nil {
		return ArchiveKey{}, err
	}
	return parseArchiveKey(path, data)
}

func parseArchiveKey(file string, data []byte) (k ArchiveKey, err error) {
	at := hcl.Range{Filename: file, Start: hcl.Pos{Column: 1}}
	for line := range strings.Lines(string(data)) {
		at.Start.Line++
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
			return ArchiveKey{}, stricthcl.Wrong(at, "invalid key: want at least 64 hexadecimal digits, as printed by openssl rand -hex 32")
		case len(distinct) < minDistinct:
			return ArchiveKey{}, stricthcl.Wrong(at, "the key is not random")
		case len(k.keys) == maxKeys:
			return ArchiveKey{}, stricthcl.Wrong(at, "the file contains more than %d keys", maxKeys)
		}
		k.keys = append(k.keys, key)
	}
	if len(k.keys) == 0 {
		at.Start.Line = 1
		return ArchiveKey{}, stricthcl.Wrong(at, "the file contains no key")
	}
	return k, nil
}

// Format implements [fmt.Formatter]: a key that gets into a text is not shown.
func (k ArchiveKey) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, "(secret)") }
