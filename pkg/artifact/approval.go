package artifact

import (
	"encoding/json"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// TypeApproval is the media type of an [Approval] document, which refers to the index of
// the release.
const TypeApproval = "application/vnd.io.github.tofu-oci.approval.v1+json"

// Approval records who approved a release, and why. It contains no time, so equal
// approvals have equal bytes.
type Approval struct {
	// Reason is a text for people; it may be empty.
	Reason string `json:"reason,omitempty"`
	// By is the person who decided; it may be empty.
	By string `json:"by,omitempty"`
}

// Document returns the approval as a document, or an error if a text is too long or not
// valid UTF-8.
func (a Approval) Document() (provider.Document, error) {
	if err := checkTexts(a.Reason, a.By); err != nil {
		return provider.Document{}, err
	}
	data, err := json.Marshal(a)
	if err != nil {
		return provider.Document{}, err
	}
	// The name differs, so that an index can have several approvals.
	return NewDocument("approval-"+digest.FromBytes(data).Encoded()[:12]+".json", TypeApproval, data), nil
}

// ParseApproval reads the document of an approval.
func ParseApproval(data []byte) (a Approval, err error) {
	if len(data) > maxDenialSize {
		return a, formatError("is an approval of more than %d bytes", maxDenialSize)
	}
	if err := bounded.DecodeJSON(data, &a, maxValues); err != nil {
		return a, formatError("is an approval that can't be read: %v", err)
	}
	return a, nil
}

// String returns the reason and the person who decided.
func (a Approval) String() string {
	if a.Reason == "" {
		return "by " + a.By
	}
	return Denial{Reason: a.Reason, By: a.By}.String()
}
