package artifact

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
)

// spdxContext begins the @context of SPDX 3 documents.
// https://spdx.github.io/spdx-spec/v3.0.1/serializations/
const spdxContext = "https://spdx.org/"

// SBOMType tells the format of an SBOM, a JSON document, by what is in it; name
// is for the error when it is neither SPDX nor CycloneDX.
func SBOMType(name string, data []byte) (mediaType string, err error) {
	var document struct {
		SPDX    string          `json:"spdxVersion"`
		Format  string          `json:"bomFormat"`
		Context json.RawMessage `json:"@context"`
	}
	if err := json.Unmarshal(data, &document); err != nil {
		return "", fmt.Errorf("%s is no JSON document: %w", name, bounded.JSONError(err))
	}
	var context string
	// A @context of another kind is none of SPDX.
	_ = json.Unmarshal(document.Context, &context)
	switch {
	case document.SPDX != "", strings.HasPrefix(context, spdxContext): // SPDX 2, SPDX 3
		return MediaTypeSPDX, nil
	case document.Format == "CycloneDX":
		return MediaTypeCycloneDX, nil
	}
	return "", fmt.Errorf("%s is neither an SPDX nor a CycloneDX document", name)
}
