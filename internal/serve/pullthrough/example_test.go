package pullthrough_test

import (
	"context"
	"fmt"
	"io"

	"github.com/tofu-oci/tofu-oci/internal/serve/pullthrough"
	"github.com/tofu-oci/tofu-oci/internal/testing/exampletest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// slowRegistry sends the content of zips after fetched is closed. Without it, the
// mirror operation could be faster than Fetch, so that Zip.File is nil, or Fetch
// returns ErrStored.
type slowRegistry struct {
	*origin.Source
	fetched chan struct{}
}

func (r slowRegistry) Open(ctx context.Context, p provider.Package) (io.ReadCloser, int64, error) {
	zip, size, err := r.Source.Open(ctx, p)
	if err != nil {
		return nil, 0, err
	}
	return slowZip{zip, r.fetched}, size, nil
}

type slowZip struct {
	io.ReadCloser
	fetched chan struct{}
}

func (z slowZip) Read(p []byte) (int, error) {
	<-z.fetched
	return z.ReadCloser.Read(p)
}

// The first request for a zip mirrors the entire release. The zip can be read while it
// is being mirrored.
func ExamplePuller_Fetch() {
	dir, remove := exampletest.Dir()
	defer remove()
	server := exampletest.NewOrigin("1.0.0")
	defer server.Close()
	pattern, err := provider.ParsePattern("acme/*")
	if err != nil {
		fmt.Println(err)
		return
	}
	fetched := make(chan struct{})
	done := make(chan pullthrough.Event, 1)
	puller, err := pullthrough.New(pullthrough.Options{
		Patterns: []provider.Pattern{pattern},
		Source: slowRegistry{
			origin.New(origin.Options{HTTP: server.Client(), Services: server.Services()}), fetched,
		},
		Open: func(to template.Reference) (repository.Repository, error) {
			return repository.NewLayout(to.Layout), nil
		},
		OnEvent: func(e pullthrough.Event) {
			if e.Stage != pullthrough.StageStarted {
				done <- e
			}
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer puller.Close()
	ctx := context.Background()
	rocket, _ := provider.ParseAddress("acme/rocket")
	version, _ := provider.ParseVersion("1.0.0")
	release, err := puller.Release(ctx, rocket, version)
	if err != nil {
		fmt.Println(err)
		return
	}
	zip, err := puller.Fetch(ctx, template.Reference{Layout: dir}, release, release.Packages[0].Platform, nil)
	close(fetched)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer zip.Close()
	size, err := io.Copy(io.Discard, io.NewSectionReader(zip.File, 0, zip.Package.Size))
	fmt.Println(zip.Package.Filename, size == zip.Package.Size, err)
	e := <-done
	fmt.Println(e.Address, e.Version, e.Stage, e.Status)
	// Output:
	// terraform-provider-rocket_1.0.0_darwin_arm64.zip true <nil>
	// registry.opentofu.org/acme/rocket 1.0.0 done created
}
