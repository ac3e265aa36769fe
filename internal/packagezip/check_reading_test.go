package packagezip_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/klauspost/compress/zip"

	"github.com/tofu-oci/tofu-oci/internal/packagezip"
)

func TestCheckRefusesArchives(t *testing.T) {
	t.Parallel()
	good := packageOf(t, file{name: "terraform-provider-x", content: elfFile{}.String()})
	corrupt := bytes.Clone(good)
	// The content of the first entry starts at offset 50.
	corrupt[50] ^= 0x06
	tests := []struct {
		test string
		data []byte
		want []string
	}{
		{"no zip", []byte("hello"), []string{"not a valid zip file"}},
		{"truncated", good[:len(good)-10], []string{"not a valid zip file"}},
		{"empty", packageOf(t), []string{"is empty"}},
		{"broken rules", packageOf(t, file{name: "../a"}, file{name: "b:c"}, file{name: "terraform-provider-x"}), []string{`"../a" has`, `"b:c" has`}},
		{"corrupt content", corrupt, []string{`reading "terraform-provider-x": flate: corrupt input`}},
	}
	for _, test := range tests {
		t.Run(test.test, func(t *testing.T) {
			t.Parallel()
			_, err := checkPackage(t, test.data, "linux_amd64")
			compare(t, "problems", problems(t, err), test.want)
		})
	}
}

// failing is a file on a disk with a bad block.
type failing struct {
	io.ReaderAt
	from, to int64
}

var errBadBlock = errors.New("bad block")

func (f failing) ReadAt(p []byte, offset int64) (int, error) {
	if offset < f.to && offset+int64(len(p)) > f.from {
		return 0, errBadBlock
	}
	return f.ReaderAt.ReadAt(p, offset)
}

// TestCheckReportsReadErrors checks that a read error is not reported as a problem
// of the package.
func TestCheckReportsReadErrors(t *testing.T) {
	t.Parallel()
	data := packageOf(t, file{name: "terraform-provider-x", content: elfFile{}.String()})
	size := int64(len(data))
	for _, bad := range []failing{{from: size - 1, to: size}, {from: 0, to: 1}} {
		bad.ReaderAt = bytes.NewReader(data)
		_, err := packagezip.Check(bad, size, "x", platform(t, "linux_amd64"))
		var refused *packagezip.CheckError
		if !errors.Is(err, errBadBlock) || errors.As(err, &refused) {
			t.Errorf("error %v (%T), want the disk's", err, err)
		}
	}
}

// TestCheckReadsLittle checks a large compressed executable.
func TestCheckReadsLittle(t *testing.T) {
	t.Parallel()
	noise := make([]byte, 4<<20)
	for i := range noise {
		noise[i] = byte(i * i >> 3)
	}
	data := packageOf(t, file{name: "terraform-provider-x", content: elfFile{}.String() + string(noise), header: func(h *zip.FileHeader) {
		h.SetMode(0o755)
		h.Method = zip.Store
	}})
	src := &counting{ReaderAt: bytes.NewReader(data)}
	if _, err := packagezip.Check(src, int64(len(data)), "x", platform(t, "linux_amd64")); err != nil {
		t.Fatal(err)
	}
	if src.bytes > 512<<10 {
		t.Errorf("%d of %d bytes were read", src.bytes, len(data))
	}
}

type counting struct {
	io.ReaderAt
	bytes int
}

func (c *counting) ReadAt(p []byte, offset int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, offset)
	c.bytes += n
	return n, err
}
