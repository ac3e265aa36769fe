package serve_test

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/tofu-oci/tofu-oci/internal/serve/api"
)

// openAPI is the OpenAPI description.
type openAPI struct {
	Paths map[string]map[string]struct {
		Responses map[string]struct {
			Content map[string]json.RawMessage `json:"content"`
		} `json:"responses"`
	} `json:"paths"`
}

const described = "https://tofu.example.com/api/v1/openapi.json"

var description = sync.OnceValues(func() (openAPI, error) {
	var d openAPI
	err := json.Unmarshal(api.OpenAPI(), &d)
	return d, err
})

// schemas compiles the schemas in the description once.
var schemas = func() func(pointer string) (*jsonschema.Schema, error) {
	var mu sync.Mutex
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(api.OpenAPI()))
	if err == nil {
		err = compiler.AddResource(described, document)
	}
	return func(pointer string) (*jsonschema.Schema, error) {
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			return nil, err
		}
		return compiler.Compile(described + "#" + pointer)
	}
}()

// pathOf returns the path in the description that matches the path of a request.
func (d openAPI) pathOf(path string) string {
	words := strings.Split(path, "/")
	for pattern := range d.Paths {
		parts := strings.Split(pattern, "/")
		fits := len(parts) == len(words)
		for i := 0; fits && i < len(parts); i++ {
			fits = parts[i] == words[i] || strings.HasPrefix(parts[i], "{") && words[i] != ""
		}
		if fits {
			return pattern
		}
	}
	return ""
}

// api sends a request to the API, and validates the response against the description.
func (w *world) api(tb testing.TB, path string, headers ...string) *httptest.ResponseRecorder {
	tb.Helper()
	response := w.get(tb, path, headers...)
	checkDescribed(tb, path, response)
	return response
}

func checkDescribed(tb testing.TB, path string, response *httptest.ResponseRecorder) {
	tb.Helper()
	d, err := description()
	if err != nil {
		tb.Fatal(err)
	}
	u, err := url.Parse(path)
	if err != nil {
		tb.Fatal(err)
	}
	pattern, status := d.pathOf(u.EscapedPath()), json.Number(jsonText(response.Code)).String()
	described, has := d.Paths[pattern]["get"].Responses[status]
	if !has {
		tb.Fatalf("%s: the description has no response %s of %q", path, status, pattern)
	}
	contentType := response.Header().Get("Content-Type")
	if _, isJSON := described.Content[contentType]; !isJSON || len(described.Content) == 0 {
		if _, isBinary := described.Content["application/octet-stream"]; !isBinary && response.Body.Len() > 0 {
			tb.Fatalf("%s: the description has no %s in response %s of %s", path, contentType, status, pattern)
		}
		return
	}
	if contentType == "application/octet-stream" {
		return
	}
	escape := strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D")
	schema, err := schemas("/paths/" + escape.Replace(pattern) + "/get/responses/" + status + "/content/" + escape.Replace(contentType) + "/schema")
	if err != nil {
		tb.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(response.Body.Bytes()))
	if err != nil {
		tb.Fatalf("%s: %v", path, err)
	}
	if err := schema.Validate(value); err != nil {
		tb.Errorf("%s: %v\n%s", path, err, response.Body)
	}
}

func jsonText(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}
