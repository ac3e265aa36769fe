package artifact

import (
	"encoding/json"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// TypeApproval is the media type of an [Approval] document, which refers to the index of the
// approved release.
const TypeApproval = "application/vnd.io.github.tofu-oci.approval.v1+json"

// Approval records who approved a release and why. It contains no time, so equal approvals have
// equal bytes.
type Approval struct {
	// Reason is free text. It can be empty.
	Reason string `json:"reason,omitempty"`
	// By names the person who made the decision. It can be empty.
	By string `json:"by,omitempty"`
}

// Document returns the approval as a document. It returns an error if the reason or
// name is too long or not valid UTF-8.
func (a Approval) Document() (provider.Document, error) {
	if err := checkTexts(a.Reason, a.By); err != nil {
		return provider.Document{}, err
	}
	data, err := json.Marshal(a)
	if err != nil {
		return provider.Document{}, err
	}
	// Different approvals have different names, so an index can have several approvals.
	return NewDocument("approval-"+digest.FromBytes(data).Encoded()[:12]+".json", TypeApproval, data), nil
}

// ParseApproval parses the document of an approval.
func ParseApproval(data []byte) (a Approval, err error) {
	if len(data) > maxDenialSize {
		return a, formatError("approval exceeds %d bytes", maxDenialSize)
	}
	if err := bounded.DecodeJSON(data, &a, maxValues); err != nil {
		return a, formatError("invalid approval: %v", err)
	}
	return a, nil
}

// String returns the reason, followed by the name of the person who made the decision.
func (a Approval) String() string {
	if a.Reason == "" {
		return "by " + a.By
	}
	return Denial{Reason: a.Reason, By: a.By}.String()
}
