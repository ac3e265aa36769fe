package repository_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// TestEchoedCredentials checks that errors contain no credentials, even if the response
// of a registry or token service repeats them.
func TestEchoedCredentials(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	for _, bearer := range []bool{false, true} {
		for _, kind := range append([]registrytest.Kind{registrytest.Token}, registrytest.Kinds...) {
			t.Run(fmt.Sprint(bearer, " ", kind), func(t *testing.T) {
				t.Parallel()
				s := newServer(t, registrytest.Options{Username: "jane", Password: "canary-password", Bearer: bearer})
				s.options.Credential = func(context.Context, string) (repository.Credential, error) {
					return repository.Credential{Username: "jane", Password: "canary-password"}, nil
				}
				for _, status := range []int{http.StatusOK, http.StatusFound, http.StatusUnauthorized, http.StatusForbidden, http.StatusTeapot} {
					for _, contentType := range []string{"application/json", "text/html"} {
						s.Behave()
						s.Misbehave(kind, origintest.Echo(status, contentType), -1)
						for name, err := range s.failures(t) {
							if text := describe(err); strings.Contains(text, "canary-") || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte("jane:canary"))) {
								t.Errorf("%d %s: %s: %s", status, contentType, name, text)
							}
						}
					}
				}
			})
		}
	}
}

// failures returns the error of each operation on a registry.
func (s *server) failures(t *testing.T) map[string]error {
	t.Helper()
	ctx, r, b := t.Context(), s.open(t), blob("content")
	all := map[string]error{}
	_, all["tags"] = r.Tags(ctx)
	_, _, all["manifest"] = r.Manifest(ctx, "1.0.0")
	_, all["stat"] = r.Stat(ctx, b.Descriptor)
	_, all["blob"] = readAll(ctx, r, b.Descriptor)
	_, all["part"] = readAll(ctx, r, ocispec.Descriptor{Digest: b.Descriptor.Digest, Size: 64 << 20})
	all["push blob"] = r.PushBlob(ctx, b.Descriptor, bytes.NewReader(b.Bytes))
	all["push manifest"] = r.PushManifest(ctx, index(t, "a"))
	all["push tag"] = r.PushTag(ctx, index(t, "a"), "1.0.0", "")
	capabilities := r.Capabilities()
	_, _, all["referrers"] = capabilities.Referrers(ctx, b.Descriptor.Digest)
	_, all["redirect"] = capabilities.Redirect(ctx, b.Descriptor)
	all["untag"] = capabilities.DeleteTag(ctx, "1.0.0", digest.FromString("x"))
	_, all["login"] = repository.CheckCredentials(ctx, s.host, s.options)
	_, all["catalog"] = repository.Catalog(ctx, template.Reference{Registry: s.host, Name: repositoryName}, s.options)
	return all
}

func readAll(ctx context.Context, r repository.Repository, d ocispec.Descriptor) (n int64, err error) {
	body, err := r.Blob(ctx, d)
	if err != nil {
		return 0, err
	}
	defer body.Close()
	return io.Copy(io.Discard, body)
}

// describe returns the error text and the fields from which hints and reports are
// built.
func describe(err error) string {
	text := fmt.Sprint(err)
	if answer, ok := errors.AsType[*repository.ResponseError](err); ok {
		text += fmt.Sprintf(" %+v", *answer)
	}
	if realm, ok := errors.AsType[*repository.RealmError](err); ok {
		text += fmt.Sprintf(" %+v", *realm)
	}
	return text
}
