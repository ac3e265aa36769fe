package store_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/pkg/store"
)

// The store keeps a zip when it is read for the first time. Later reads use the stored
// zip.
func Example() {
	dir, err := os.MkdirTemp("", "store")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ctx := context.Background()

	s, err := store.Open(filepath.Join(dir, "cache"), store.Options{
		OnDamaged: func(path string, why error) { fmt.Println(path, why) },
		OnFailed:  func(err error) { fmt.Println(err) },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	const zip = "as it comes from a verifying reader"
	d := digest.FromString(zip)
	for range 2 {
		blob, ok := s.Blob(ctx, d)
		fmt.Println("found:", ok)
		if ok {
			fmt.Println("bytes:", blob.Size())
			_ = blob.Close()
			continue
		}
		body := s.Keep(d, int64(len(zip)), io.NopCloser(strings.NewReader(zip)))
		_, err := io.Copy(io.Discard, body)
		fmt.Println(err, body.Close())
	}
	// Output:
	// found: false
	// <nil> <nil>
	// found: true
	// bytes: 35
}
