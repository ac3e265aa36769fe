//go:build unix

package main_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"

	main "github.com/tofu-oci/tofu-oci/e2e/peers"
)

func TestZipsAreReproducible(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	var text bytes.Buffer
	for sum := sha256.Sum256(nil); text.Len() < 3<<20; sum = sha256.Sum256(sum[:]) {
		text.WriteString(strings.Repeat(string(sum[:]), 3))
	}
	if err := os.WriteFile(program, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	blocks, err := main.ReadBlocks(t.Context(), program)
	if err != nil {
		t.Fatal(err)
	}
	digests := map[digest.Digest]int{}
	for _, seed := range []uint64{1, 2, 1} {
		made, err := main.WriteZip(filepath.Join(dir, "a.zip"), "terraform-provider-a", blocks, 20<<20, seed)
		if err != nil {
			t.Fatal(err)
		}
		digests[made.Digest()]++
		if err := main.HasDigest(filepath.Join(dir, "a.zip"), made.Digest())(t.Context()); err != nil {
			t.Error(err)
		}
		r, err := zip.OpenReader(filepath.Join(dir, "a.zip"))
		if err != nil {
			t.Fatal(err)
		}
		entry, err := r.Open("terraform-provider-a")
		if err != nil {
			t.Fatal(err)
		}
		hash := sha256.New()
		n, err := io.Copy(hash, entry)
		if err != nil || n != 20<<20 {
			t.Errorf("got %d bytes, error %v", n, err)
		}
		if got := digest.NewDigest(digest.SHA256, hash); got != made.Program() {
			t.Errorf("the program is %s, want %s", got, made.Program())
		}
		_ = r.Close()
	}
	if len(digests) != 2 {
		t.Errorf("unexpected digests for three seeds, two of them equal: %v", digests)
	}
}

// TestLinkRate checks only the minimum duration, because a transfer takes longer on a
// busy machine.
func TestLinkRate(t *testing.T) {
	t.Parallel()
	content := bytes.Repeat([]byte("0123456789abcdef"), 4_000_000/16)
	server, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	go func() {
		conn, err := server.Accept()
		if err != nil {
			return
		}
		_, _ = io.CopyN(io.Discard, conn, 5)
		_, _ = conn.Write(content)
		_ = conn.Close()
	}()
	host, done, err := main.StartLink(server.Addr().String())(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	began := time.Now()
	conn, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "hello"); err != nil {
		t.Fatal(err)
	}
	var first [1]byte
	if _, err := io.ReadFull(conn, first[:]); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < main.LinkDelay {
		t.Errorf("the first byte arrived after %s", took)
	}
	rest, err := io.ReadAll(conn)
	if err != nil || !bytes.Equal(rest, content[1:]) {
		t.Errorf("got %d bytes, error %v", len(rest)+1, err)
	}
	// The link can compensate for a delay of at most LinkDelay.
	least := time.Duration(len(content))*time.Second/main.LinkRate - 2*main.LinkDelay
	if took := time.Since(began); took < least {
		t.Errorf("%d bytes took %s", len(content), took)
	}
}

func TestLinkCountsBytes(t *testing.T) {
	t.Parallel()
	content := bytes.Repeat([]byte("0123456789abcdef"), 4_000_000/16)
	server, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	go func() {
		conn, err := server.Accept()
		if err != nil {
			return
		}
		_, _ = io.CopyN(io.Discard, conn, 5)
		_, _ = conn.Write(content)
		_ = conn.Close()
	}()
	start, carried := main.StartCounting(server.Addr().String())
	host, done, err := start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "hello"); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(conn); err != nil || !bytes.Equal(got, content) {
		t.Errorf("got %d bytes, error %v", len(got), err)
	}
	done()
	if got, want := carried(), int64(5+len(content)); got != want {
		t.Errorf("transferred %d bytes, want %d", got, want)
	}
}

func TestTrafficComparison(t *testing.T) {
	t.Parallel()
	want := "\nthe work transferred 20.5 kB over the network, theirs 70.0 MB: 3414 times as much (target: ≥ 100).\n"
	if got := main.Traffic(20_500, 70_000_000, 100); got != want {
		t.Errorf("got %q", got)
	}
	if got := main.Traffic(20_500, 70_000_000, 0); got != "" {
		t.Errorf("got %q", got)
	}
}

func TestRowsCompareMediansWithTheFastest(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		wanted float64
		want   string
	}{
		"reached": {1, "| the work | other | 3.00 / 4.00 | 0.75 | 0.50–1.50 | ≤ 1 | 1.00 / 1.00 | 1 / 1 |"},
		"missed":  {0.5, "| the work | other | 3.00 / 4.00 | **0.75** | 0.50–1.50 | ≤ 0.5 | 1.00 / 1.00 | 1 / 1 |"},
		"open":    {0, "| the work | other | 3.00 / 4.00 | 0.75 | 0.50–1.50 | – | 1.00 / 1.00 | 1 / 1 |"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := main.Compared(test.wanted, []int{2, 6, 3}, []int{5, 5, 5}, []int{4, 4, 4})
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}
