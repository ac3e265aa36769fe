//go:build unix

package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// hasDigest returns a check that a file has the given digest.
func hasDigest(file string, want digest.Digest) func(context.Context) error {
	return func(context.Context) error {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		hash := sha256.New()
		if _, err := io.Copy(hash, f); err != nil {
			return err
		}
		if got := digest.NewDigest(digest.SHA256, hash); got != want {
			return fmt.Errorf("%s is %s, want %s", file, got, want)
		}
		return nil
	}
}

// described contains the fields of a descriptor that the checks read.
type described struct {
	MediaType   string
	Digest      digest.Digest
	Annotations map[string]string
	Platform    struct{ OS, Architecture string }
}

// isMirrored returns a check that a repository, "HOST/v2/NAME", contains the wanted
// releases with all zips. If h1 is set, the repository must also contain an h1 hash for
// each zip.
func (s *site) isMirrored(repository string, want map[string]release, h1 bool) func(context.Context) error {
	return func(ctx context.Context) error {
		for version, packages := range want {
			got := release{}
			var index struct{ Manifests []described }
			if err := s.get(ctx, repository+"/manifests/"+version, &index); err != nil {
				return err
			}
			for _, m := range index.Manifests {
				if (m.Annotations["io.github.tofu-oci.h1"] != "") != h1 {
					return fmt.Errorf("%s: unexpected annotations %v", version, m.Annotations)
				}
				var manifest struct{ Layers []described }
				if err := s.get(ctx, repository+"/manifests/"+m.Digest.String(), &manifest); err != nil {
					return err
				}
				if len(manifest.Layers) == 0 {
					return fmt.Errorf("%s has no layers", m.Digest)
				}
				zip := manifest.Layers[0].Digest
				if err := s.exists(ctx, repository+"/blobs/"+zip.String()); err != nil {
					return err
				}
				got[provider.Platform{OS: m.Platform.OS, Arch: m.Platform.Architecture}] = zip
			}
			if !maps.Equal(got, packages) {
				return fmt.Errorf("%s contains %v, want %v", version, got, packages)
			}
		}
		return nil
	}
}

// hasSameTags returns a check that two repositories of the registry contain the same
// releases, and the expected number of releases.
func (s *site) hasSameTags(one, other string) func(context.Context) error {
	return func(ctx context.Context) error {
		var first, second struct{ Tags []string }
		for name, into := range map[string]any{one: &first, other: &second} {
			if err := s.get(ctx, s.host+"/v2/"+name+"/tags/list?n=1000", into); err != nil {
				return err
			}
		}
		if len(first.Tags) != manyVersions || !slices.Equal(first.Tags, second.Tags) {
			return fmt.Errorf("got %d and %d tags, want %d", len(first.Tags), len(second.Tags), manyVersions)
		}
		return nil
	}
}

func (s *site) get(ctx context.Context, url string, into any) error {
	resp, err := s.do(ctx, http.MethodGet, url)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.NewDecoder(resp.Body).Decode(into)
}

func (s *site) exists(ctx context.Context, url string) error {
	resp, err := s.do(ctx, http.MethodHead, url)
	if err == nil {
		err = resp.Body.Close()
	}
	return err
}

// username and password are the login of registries that require one.
const username, password = "user", "a password of tests"

// acceptManifests is the Accept header of requests to a registry.
const acceptManifests = "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json, */*"

func (s *site) do(ctx context.Context, method, url string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, "https://"+url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", acceptManifests)
	req.SetBasicAuth(username, password) // ignored by registries that allow all requests
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close()
		return nil, fmt.Errorf("%s %s: %s", method, url, resp.Status)
	}
	return resp, nil
}
