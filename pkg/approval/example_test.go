package approval_test

import (
	"context"
	"fmt"

	"github.com/tofu-oci/tofu-oci/internal/testing/exampletest"
	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/builddir"
)

// stage publishes versions of acme/rocket under pending tags.
func stage(ctx context.Context, dir string, repo repository.Repository, versions ...provider.Version) provider.Address {
	address, err := provider.ParseAddress("acme/rocket")
	if err != nil {
		panic(err)
	}
	var names []string
	for _, v := range versions {
		names = append(names, v.String())
	}
	src, err := builddir.New(address, exampletest.Build(dir, names...))
	if err != nil {
		panic(err)
	}
	for _, v := range versions {
		if _, err := publish.Release(ctx, src, repo, address, v, publish.Options{Stage: true}); err != nil {
			panic(err)
		}
	}
	return address
}

func mustVersion(text string) provider.Version {
	v, err := provider.ParseVersion(text)
	if err != nil {
		panic(err)
	}
	return v
}

// This example promotes a pending release.
func ExamplePromote() {
	dir, remove := exampletest.Dir()
	defer remove()
	ctx, repo, version := context.Background(), repository.NewLayout(dir+"/layout"), mustVersion("1.0.0")
	address := stage(ctx, dir, repo, version)

	tags, err := repo.Tags(ctx)
	fmt.Println(tags, err)
	for range 2 {
		// The zero value verifies no signatures. To verify them, set Verify to a method
		// of trust.Policy.
		done, err := approval.Promote(ctx, repo, address, version, approval.PromoteOptions{})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(done.Status, done.Tag, len(done.Packages), "packages")
	}
	tags, err = repo.Tags(ctx)
	fmt.Println(tags, err)
	// Output:
	// [pending-1.0.0] <nil>
	// promoted 1.0.0 2 packages
	// unchanged 1.0.0 2 packages
	// [1.0.0] <nil>
}

// This example denies a release. Afterwards, the version can't be published again.
func ExampleDeny() {
	dir, remove := exampletest.Dir()
	defer remove()
	ctx, repo, version := context.Background(), repository.NewLayout(dir+"/layout"), mustVersion("1.0.0")
	address := stage(ctx, dir, repo, version)

	done, err := approval.Deny(ctx, repo, address, version, approval.DenyOptions{Reason: "crashes at night", By: "jane"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(done.Status, done.Tag)

	src, err := builddir.New(address, dir+"/dist")
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = publish.Release(ctx, src, repo, address, version, publish.Options{})
	fmt.Println(err)
	// Output:
	// denied denied-1.0.0
	// publishing registry.opentofu.org/acme/rocket 1.0.0: version is denied: crashes at night (jane)
}

// This example lists pending and denied versions.
func ExampleList() {
	dir, remove := exampletest.Dir()
	defer remove()
	ctx, repo := context.Background(), repository.NewLayout(dir+"/layout")
	old, recent := mustVersion("1.0.0"), mustVersion("1.1.0")
	address := stage(ctx, dir, repo, old, recent)
	if _, err := approval.Deny(ctx, repo, address, old, approval.DenyOptions{Reason: "crashes at night"}); err != nil {
		fmt.Println(err)
		return
	}
	entries, err := approval.List(ctx, repo)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range entries {
		fmt.Println(e.Version, e.State, e.Platforms)
	}
	// Output:
	// 1.1.0 pending [darwin_arm64 linux_amd64]
	// 1.0.0 denied [darwin_arm64 linux_amd64]
}
