package api

import (
	_ "embed"
	"slices"
)

//go:embed openapi.json
var openAPI []byte

// OpenAPI returns the description of the API in OpenAPI 3.1:
// https://spec.openapis.org/oas/v3.1.1.html
func OpenAPI() []byte { return slices.Clone(openAPI) }
