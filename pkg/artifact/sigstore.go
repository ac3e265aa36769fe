package artifact

import (
	"encoding/json"
	"fmt"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
)

// SigstoreType returns the media type of a Sigstore bundle, a JSON document; name is
// for the error when it is none, or of a form before 0.3, which has no media type
// that a layer can have.
func SigstoreType(name string, data []byte) (mediaType string, err error) {
	var document struct {
		MediaType string `json:"mediaType"`
	}
	if err := json.Unmarshal(data, &document); err != nil {
		return "", fmt.Errorf("%s is no JSON document: %w", name, bounded.JSONError(err))
	}
	if document.MediaType != MediaTypeSigstore {
		return "", fmt.Errorf("%s is no Sigstore bundle of version 0.3: its media type is %q, not %s", name, clip(document.MediaType), MediaTypeSigstore)
	}
	return MediaTypeSigstore, nil
}
