package pull_test

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/internal/testing/testca"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/pull"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// largeZip returns a zip that is fetched in parts.
func largeZip(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	noise := rand.NewChaCha8([32]byte{})
	for i, name := range []string{"LICENSE", "terraform-provider-x"} {
		f, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.CopyN(f, noise, []int64{1 << 10, 17 << 20}[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestUnpackedOfWrongParts checks that the bytes of a zip are verified before its
// content. A wrong byte in a part is reported as a digest mismatch, not as an invalid
// zip. The package is then fetched in one stream.
func TestUnpackedOfWrongParts(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	content := largeZip(t)
	header := int64(bytes.Index(content, []byte("terraform-provider-x"))) - 30
	directory := int64(bytes.LastIndex(content, []byte("LICENSE"))) - 46
	positions := map[string]int64{
		"a descriptor": header - 8, "a header": header, "flags": header + 6, "content": header + 5<<20, "the directory": directory + 20,
	}
	for name, at := range positions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := sinkPackage(t, sinkZip(t, "one", "terraform-provider-x"))
			p.Digest, p.Size, p.H1 = digest.FromBytes(content), int64(len(content)), ""
			repo := wrongInParts(t, at, content)
			open := func(ctx context.Context) (io.ReadCloser, error) {
				return repository.Verified(ctx, repo, artifact.ZipDescriptor(p), p.Filename)
			}
			sink, err := pull.NewSink(pull.LayoutUnpacked, filepath.Join(t.TempDir(), "dir"), nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err = sink.Put(t.Context(), p, open); err == nil || !httpclient.IsTransient(err) {
				t.Errorf("got %v, want a transient error", err)
			}
			if _, _, err = sink.Put(t.Context(), p, open); err != nil {
				t.Errorf("the second time: %v", err)
			}
		})
	}
}

// wrongInParts returns a repository that flips a bit of a blob if the blob is requested
// in parts.
func wrongInParts(t *testing.T, at int64, content []byte) repository.Repository {
	t.Helper()
	ca, err := testca.New()
	if err != nil {
		t.Fatal(err)
	}
	stored := registrytest.New(registrytest.Options{})
	stored.AddBlob("acme/thing", digest.FromBytes(content).String(), content)
	stored.Misbehave(registrytest.BlobGet, func(w http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		var from, to int64
		if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &from, &to); err == nil && from <= at && at <= to {
			origintest.FlipBit(at-from+1)(w, r, honest)
			return
		}
		honest(w, r)
	}, -1)
	ref := template.Reference{Registry: registrytest.Serve(t, ca, stored), Name: "acme/thing"}
	repo, err := repository.Open(ref, repository.Options{HTTP: registrytest.Client(t, ca)})
	if err != nil {
		t.Fatal(err)
	}
	return repo
}
