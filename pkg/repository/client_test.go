package repository_test

import (
	"bytes"
	"context"
	"net/http"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// TestRetriesDoNotMultiply checks that a request that always fails is sent
// [httpclient.MaxTries] times in total, even if the operation is also retried as a
// transfer.
func TestRetriesDoNotMultiply(t *testing.T) {
	t.Parallel()
	b := blob("content")
	operations := map[registrytest.Kind]func(context.Context, repository.Repository) error{
		registrytest.Tags: func(ctx context.Context, r repository.Repository) error { _, err := r.Tags(ctx); return err },
		registrytest.ManifestGet: func(ctx context.Context, r repository.Repository) error {
			_, _, err := r.Manifest(ctx, "1.0.0")
			return err
		},
		registrytest.ManifestHead: func(ctx context.Context, r repository.Repository) error {
			return r.PushTag(ctx, index(t, "a"), "1.0.0", "")
		},
		registrytest.BlobGet: func(ctx context.Context, r repository.Repository) error {
			_, err := readAll(ctx, r, b.Descriptor)
			return err
		},
		registrytest.BlobHead: func(ctx context.Context, r repository.Repository) error {
			_, err := r.Stat(ctx, b.Descriptor)
			return err
		},
		registrytest.UploadPost: func(ctx context.Context, r repository.Repository) error {
			return r.PushBlob(ctx, b.Descriptor, bytes.NewReader(b.Bytes))
		},
		registrytest.UploadPut: func(ctx context.Context, r repository.Repository) error {
			return r.PushBlob(ctx, b.Descriptor, onlyReader{bytes.NewReader(b.Bytes)})
		},
	}
	for kind, do := range operations {
		for name, fault := range map[string]origintest.Fault{"503": origintest.Status(http.StatusServiceUnavailable), "broken body": origintest.Reset(3)} {
			t.Run(string(kind)+" "+name, func(t *testing.T) {
				t.Parallel()
				s := newServer(t, registrytest.Options{})
				s.Misbehave(kind, fault, -1)
				r := s.open(t)
				err := transfer.Retrier{}.Do(t.Context(), "moving", func() error { return do(t.Context(), r) })
				if n := s.Requests()[kind]; err == nil && name == "503" || n > httpclient.MaxTries {
					t.Errorf("%d requests: %v", n, err)
				}
			})
		}
	}
}

// onlyReader is a reader that can't be rewound.
type onlyReader struct{ r *bytes.Reader }

func (o onlyReader) Read(p []byte) (int, error) { return o.r.Read(p) }
