package mirror_test

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/testing/exampletest"
	"github.com/tofu-oci/tofu-oci/pkg/mirror"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
)

// Run mirrors the newest release that meets a constraint from its origin registry to an
// OCI image layout. A second run changes nothing.
func ExampleRun() {
	dir, remove := exampletest.Dir()
	defer remove()
	server := exampletest.NewOrigin("1.0.0", "1.1.0", "2.0.0")
	defer server.Close()

	wanted, err := provider.ParseRequirement("acme/rocket@~> 1.0")
	if err != nil {
		fmt.Println(err)
		return
	}
	// The zero Options use public registries. This example uses a server on a loopback
	// address.
	src := origin.New(origin.Options{HTTP: server.Client(), Services: server.Services()})
	for range 2 {
		err = mirror.Run(context.Background(), src, []provider.Requirement{wanted}, mirror.Options{
			Latest: 1,
			Target: func(a provider.Address) (repository.Repository, publish.Options, error) {
				return repository.NewLayout(filepath.Join(dir, a.Namespace, a.Type)), publish.Options{}, nil
			},
			OnResult: func(r mirror.Result) {
				fmt.Println(r.Item.Requirement.Address, r.Item.Version, r.Published.Status, r.Err)
				for _, p := range r.Published.Packages {
					fmt.Println(" ", p.Package.Platform, "sent:", p.Sent)
				}
			},
		})
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	// Output:
	// registry.opentofu.org/acme/rocket 1.1.0 created <nil>
	//   darwin_arm64 sent: true
	//   linux_amd64 sent: true
	// registry.opentofu.org/acme/rocket 1.1.0 unchanged <nil>
	//   darwin_arm64 sent: false
	//   linux_amd64 sent: false
}

// Copy copies all versions unchanged from one OCI repository to another, in this
// example between image layouts. A second run changes nothing.
func ExampleCopy() {
	dir, remove := exampletest.Dir()
	defer remove()
	layout := exampletest.Layout(dir, "1.0.0", "1.1.0")

	wanted, err := provider.ParseRequirement("acme/rocket")
	if err != nil {
		fmt.Println(err)
		return
	}
	from := func(provider.Address) (repository.Reader, error) { return repository.NewLayout(layout), nil }
	for range 2 {
		err = mirror.Copy(context.Background(), from, []provider.Requirement{wanted}, mirror.Options{
			Target: func(a provider.Address) (repository.Repository, publish.Options, error) {
				return repository.NewLayout(filepath.Join(dir, "inside", a.Namespace, a.Type)), publish.Options{}, nil
			},
			OnResult: func(r mirror.Result) {
				fmt.Println(r.Item.Requirement.Address, r.Item.Version, r.Published.Status, r.Err)
			},
		})
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	// Output:
	// registry.opentofu.org/acme/rocket 1.1.0 created <nil>
	// registry.opentofu.org/acme/rocket 1.0.0 created <nil>
	// registry.opentofu.org/acme/rocket 1.1.0 unchanged <nil>
	// registry.opentofu.org/acme/rocket 1.0.0 unchanged <nil>
}

// Check compares the publication date stated by the origin with the minimum age.
func ExampleCooldown_Check() {
	a, err := provider.ParseAddress("acme/rocket")
	if err != nil {
		fmt.Println(err)
		return
	}
	v, err := provider.ParseVersion("1.2.3")
	if err != nil {
		fmt.Println(err)
		return
	}
	published := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, age := range []time.Duration{71 * time.Hour, 72 * time.Hour} {
		c := mirror.Cooldown{MinAge: 72 * time.Hour, Now: func() time.Time { return published.Add(age) }}
		fmt.Println(age, c.Check(a, v, published))
	}
	// Output:
	// 71h0m0s registry.opentofu.org/acme/rocket 1.2.3 is held back until 2026-03-04T12:00:00Z, because it was published on 2026-03-01T12:00:00Z
	// 72h0m0s <nil>
}
