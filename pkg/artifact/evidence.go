package artifact

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Media types of attachments that describe one package.
const (
	MediaTypeSPDX   = "application/spdx+json"
	MediaTypeInToto = "application/vnd.in-toto+json"
)

// layerOrder is the order of attachments in a manifest. A signature appears
// once: packages' own attachments and shared ones are sorted apart.
var layerOrder = []string{MediaTypeSums, MediaTypeSignature, MediaTypeKeys, MediaTypeSPDX, MediaTypeCycloneDX, MediaTypeInToto}

// inOrder sorts attachments as layers stand: by kind, then by name.
func inOrder(as []provider.Attachment) []provider.Attachment {
	rank := func(a provider.Attachment) int {
		if i := slices.Index(layerOrder, a.MediaType); i >= 0 {
			return i
		}
		return len(layerOrder)
	}
	return slices.SortedStableFunc(slices.Values(as), func(a, b provider.Attachment) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Name, b.Name))
	})
}

// Shared tells whether an attachment is about the whole release (SHA256SUMS,
// its signature, the keys) and not about one package. Signatures of both kinds
// have the same media type; the name tells them apart.
func Shared(mediaType, name string) bool {
	switch mediaType {
	case MediaTypeSums, MediaTypeKeys:
		return true
	case MediaTypeSignature:
		return strings.Contains(name, "SHA256SUMS")
	}
	return false
}
