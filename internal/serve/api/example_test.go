package api_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"net/url"
	"path/filepath"

	"github.com/tofu-oci/tofu-oci/internal/serve"
	"github.com/tofu-oci/tofu-oci/internal/serve/api"
	"github.com/tofu-oci/tofu-oci/internal/testing/exampletest"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// A program lists the providers of a server.
func ExampleClient() {
	dir, remove := exampletest.Dir()
	defer remove()
	from, err := template.Parse("oci-layout:" + filepath.ToSlash(exampletest.Layout(dir, "1.0.0", "1.1.0")))
	if err != nil {
		fmt.Println(err)
		return
	}
	handler, err := serve.New(serve.Options{
		From: []template.Template{from},
		Open: func(ref template.Reference) (repository.Reader, error) { return repository.NewLayout(ref.Layout), nil },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	server := httptest.NewServer(handler)
	defer server.Close()
	u, err := url.Parse(server.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	reader, err := api.NewClient(api.ClientOptions{HTTP: server.Client(), URL: u})
	if err != nil {
		fmt.Println(err)
		return
	}
	found, err := reader.Providers(context.Background(), "rocket")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range found.Providers {
		fmt.Println(p.Address, p.Latest)
	}
	// Output:
	// registry.opentofu.org/acme/rocket 1.1.0
}
