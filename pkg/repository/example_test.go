package repository_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/tofu-oci/tofu-oci/internal/testing/exampletest"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// Copy copies a release and its referrers byte for byte. Digests do not change, so
// signatures remain valid. A second run sends nothing.
func ExampleCopy() {
	dir, remove := exampletest.Dir()
	defer remove()
	from := repository.NewLayout(exampletest.Layout(dir, "1.0.0"))
	to := repository.NewLayout(filepath.Join(dir, "copy"))

	for range 2 {
		copied, err := repository.Copy(context.Background(), from, to, "1.0.0", repository.CopyOptions{})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(copied.Tag, "tagged:", copied.Tagged, "blobs:", copied.Blobs)
	}
	// Output:
	// 1.0.0 tagged: true blobs: 4
	// 1.0.0 tagged: false blobs: 0
}

// The existence of a tag does not prove that its content is complete. Inspect checks
// the content up to the given depth.
func ExampleInspect() {
	dir, remove := exampletest.Dir()
	defer remove()
	repo := repository.NewLayout(exampletest.Layout(dir, "1.0.0"))
	ctx := context.Background()

	index, err := repository.Inspect(ctx, repo, "1.0.0", repository.DepthIndex)
	if err != nil {
		fmt.Println(err)
		return
	}
	platforms := index.Index.Platforms()
	found, err := index.InspectMore(ctx, repo, repository.DepthBlobs, platforms...)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range platforms {
		fmt.Println(p, "intact:", found.Platforms[p].IsIntact())
	}
	none, err := repository.Inspect(ctx, repo, "9.9.9", repository.DepthIndex)
	fmt.Println(none.Exists(), errors.Is(none.Absent, repository.ErrNotFound), err)
	// Output:
	// darwin_arm64 intact: true
	// linux_amd64 intact: true
	// false true <nil>
}

// This example attaches an SBOM for all platforms to the release. The release itself
// does not change.
func ExampleAttach() {
	dir, remove := exampletest.Dir()
	defer remove()
	repo := repository.NewLayout(exampletest.Layout(dir, "1.0.0"))
	ctx := context.Background()

	index, err := repository.Inspect(ctx, repo, "1.0.0", repository.DepthIndex)
	if err != nil {
		fmt.Println(err)
		return
	}
	sbom := artifact.NewDocument("terraform-provider-rocket_1.0.0.spdx.json", artifact.MediaTypeSPDX, []byte(`{"spdxVersion":"SPDX-2.3"}`))
	attached, err := repository.Attach(ctx, repo, []provider.Document{sbom}, artifact.Blob{Descriptor: index.Descriptor})
	fmt.Println(attached, err)

	documents, err := repository.Documents(ctx, repo, index.Digest)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range documents {
		content, err := d.Read(ctx)
		fmt.Println(d.Kind, d.Scope, string(content), err)
	}
	// Output:
	// [terraform-provider-rocket_1.0.0.spdx.json] <nil>
	// sbom release {"spdxVersion":"SPDX-2.3"} <nil>
}

// Open returns a repository in a registry or an image layout, depending on the
// reference. It sends no requests.
func ExampleOpen() {
	for _, text := range []string{"ghcr.io/acme/providers/rocket", "oci-layout:mirror/acme/rocket"} {
		ref, err := template.ParseReference(text)
		if err != nil {
			fmt.Println(err)
			return
		}
		repo, err := repository.Open(ref, repository.Options{
			Credential: func(_ context.Context, name string) (repository.Credential, error) {
				return repository.Credential{}, nil // the credentials for "host/name"; the zero value means anonymous access
			},
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(repo, "moves tags in one step:", repo.Capabilities().AtomicTags)
	}
	// Output:
	// ghcr.io/acme/providers/rocket moves tags in one step: false
	// oci-layout:mirror/acme/rocket moves tags in one step: true
}

// The error type identifies the cause, regardless of the kind of repository.
func ExampleConflictError() {
	dir, remove := exampletest.Dir()
	defer remove()
	from := repository.NewLayout(exampletest.Layout(dir, "1.0.0"))
	to := repository.NewLayout(exampletest.LayoutRebuilt(dir, "1.0.0"))
	ctx := context.Background()

	for _, tag := range []string{"1.0.0", "2.0.0"} {
		_, err := repository.Copy(ctx, from, to, tag, repository.CopyOptions{})
		var conflict *repository.ConflictError
		switch {
		case errors.As(err, &conflict):
			fmt.Println(tag, "holds something else")
		case errors.Is(err, repository.ErrNotFound), errors.Is(err, repository.ErrNoRepository):
			fmt.Println(tag, "is missing")
		case errors.Is(err, provider.ErrForbidden):
			fmt.Println("log in first:", err)
		}
	}
	// Output:
	// 1.0.0 holds something else
	// 2.0.0 is missing
}
