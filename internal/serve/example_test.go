package serve_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"

	"github.com/tofu-oci/tofu-oci/internal/serve"
	"github.com/tofu-oci/tofu-oci/internal/testing/exampletest"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// A server for an image layout is an ordinary HTTP handler.
func ExampleNew() {
	dir, remove := exampletest.Dir()
	defer remove()
	layout := exampletest.Layout(dir, "1.0.0", "1.1.0")

	from, err := template.Parse("oci-layout:" + filepath.ToSlash(layout))
	if err != nil {
		fmt.Println(err)
		return
	}
	server, err := serve.New(serve.Options{
		From: []template.Template{from},
		Open: func(ref template.Reference) (repository.Reader, error) {
			return repository.Open(ref, repository.Options{})
		},
		Events: serve.Events{OnRequest: func(a serve.RequestEvent) { fmt.Println(a.Route, a.Status) }},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	response := httptest.NewRecorder()
	server.ServeHTTP(response, httptest.NewRequest(http.MethodGet, "/mirror/registry.opentofu.org/acme/rocket/index.json", nil))
	fmt.Print(response.Body)
	// Output:
	// mirror-index 200
	// {"versions":{"1.0.0":{},"1.1.0":{}}}
}
