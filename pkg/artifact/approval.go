package artifact

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/boundedjson"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// TypeApproval is the media type of the document that says who approved a release, and
// why. It refers to the index of the release.
const TypeApproval = "application/vnd.io.github.tofu-oci.approval.v1+json"

// Approval says who approved a release, and why. It has no time, so that equal approvals
// are equal bytes.
type Approval struct {
	// Reason is for people, any text; it may be empty.
	Reason string `json:"reason,omitempty"`
	// By names who decided; it may be empty.
	By string `json:"by,omitempty"`
}

// Document returns the approval as a document. The error is about texts that are too long
// or not UTF-8.
func (a Approval) Document() (provider.Document, error) {
	switch {
	case len(a.Reason) > maxReason || len(a.By) > maxReason:
		return provider.Document{}, fmt.Errorf("the reason or the name has more than %d bytes", maxReason)
	case !utf8.ValidString(a.Reason) || !utf8.ValidString(a.By):
		return provider.Document{}, errors.New("the reason or the name is not UTF-8")
	}
	data, err := json.Marshal(a)
	if err != nil {
		return provider.Document{}, err
	}
	// Another approval of the same index is another document.
	return NewDocument("approval-"+digest.FromBytes(data).Encoded()[:12]+".json", TypeApproval, data), nil
}

// ParseApproval reads the document of an approval.
func ParseApproval(data []byte) (a Approval, err error) {
	if len(data) > MaxDenialSize {
		return a, formatError("is an approval of more than %d bytes", MaxDenialSize)
	}
	if err := boundedjson.Unmarshal(data, &a, maxValues); err != nil {
		return a, formatError("is an approval that can't be read: %v", err)
	}
	return a, nil
}

// String returns the reason, and who decided.
func (a Approval) String() string {
	if a.Reason == "" {
		return "by " + a.By
	}
	return Denial{Reason: a.Reason, By: a.By}.String()
}
