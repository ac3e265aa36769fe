package api

import (
	_ "embed"
	"slices"
)

//go:embed openapi.json
var openAPI []byte

// OpenAPI returns the API's description in OpenAPI 3.1 format. See
// https://spec.openapis.org/oas/v3.1.1.html.
func OpenAPI() []byte { return slices.Clone(openAPI) }
