package e2e_test

import (
	"archive/zip"
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// TestUploadResumes cuts the connection to the real registry during the upload of a
// zip. The upload must not repeat bytes that have already arrived.
func TestUploadResumes(t *testing.T) {
	t.Parallel()
	var content bytes.Buffer
	archive := zip.NewWriter(&content)
	entry, err := archive.CreateHeader(&zip.FileHeader{Name: "terraform-provider-large_v1.0.0", Method: zip.Store})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(entry, rand.NewChaCha8([32]byte{1}), 64<<20); err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	_, config := serveOrigin(t, origintest.Options{}, origintest.Release{
		Namespace: "acme", Type: "large", Version: "1.0.0",
		Archives: map[provider.Platform]origintest.Archive{{OS: "plan9", Arch: "arm"}: {Bytes: content.Bytes()}},
	})
	size := int64(content.Len())
	way := newCutting(t, startRegistry(t), size*3/5)
	cmd := command(t, programs.tofuOCI, "mirror", "acme/large", "--to", way.host+"/up/{type}", "--config", config, "--ca-file", world.caFile)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "was interrupted; retrying") {
		t.Fatalf("%v\n%s", err, out)
	}
	if sent := way.sent.Load(); sent < size || sent > size*3/2 {
		t.Errorf("sent %d bytes to the registry for a zip of %d bytes", sent, size)
	}
	run(t, programs.tofuOCI, "pull", "acme/large", "--from", way.host+"/up/{type}", "--platform", "plan9_arm", "--dir", t.TempDir(),
		"--layout", "packed", "--ca-file", world.caFile)
}

// cutting is a proxy that cuts one connection after a given number of bytes.
type cutting struct {
	host string
	sent atomic.Int64
	cut  atomic.Bool
}

func newCutting(t *testing.T, server string, after int64) *cutting {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c := &cutting{host: "localhost:" + port}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go c.carry(conn, server, after)
		}
	}()
	return c
}

func (c *cutting) carry(client net.Conn, server string, after int64) {
	defer func() { _ = client.Close() }()
	registry, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	defer func() { _ = registry.Close() }()
	go func() {
		_, _ = io.Copy(client, registry)
		_ = client.Close()
	}()
	buffer, carried := make([]byte, 64<<10), int64(0)
	for {
		n, err := client.Read(buffer)
		c.sent.Add(int64(n))
		carried += int64(n)
		if carried > after && c.cut.CompareAndSwap(false, true) {
			return
		}
		if _, failed := registry.Write(buffer[:n]); failed != nil || err != nil {
			return
		}
	}
}
