package gate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/internal/extprog"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
)

const (
	// maxAnswer is the maximum size of a program's output in bytes.
	maxAnswer = 64 << 10
	// maxAnswerValues is the maximum number of JSON values in the output.
	maxAnswerValues = 64
	// maxReason is the maximum size of a reason in bytes.
	maxReason = 4 << 10
)

// Answer is the verdict of a program about a release.
type Answer struct {
	Verdict Verdict
	// Reason is one line of text. It is required unless the verdict is [Allow].
	Reason string
	// ValidUntil is the time until which the answer is reused.
	ValidUntil time.Time
	// Expires is the time at which an allowance expires. If zero, it never expires.
	Expires time.Time
}

// parseAnswer parses the output of a program about the index. Unknown fields are errors,
// because an ignored misspelled expiry would be an unlimited allowance.
func parseAnswer(data []byte, index digest.Digest, now time.Time) (a Answer, err error) {
	var document struct {
		Verdict  Verdict       `json:"verdict"`
		Reason   string        `json:"reason"`
		ValidFor string        `json:"valid_for"`
		Expires  string        `json:"expires"`
		Index    digest.Digest `json:"index"`
	}
	if err := bounded.CheckJSON(data, maxAnswerValues); err != nil {
		return a, err
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&document); err != nil {
		return a, bounded.JSONError(err)
	}
	a = Answer{Verdict: document.Verdict, Reason: extprog.OneLine([]byte(text.Redact(document.Reason)))}
	if document.ValidFor != "" {
		lifetime, err := text.ParseAge(document.ValidFor)
		if err != nil {
			return a, fmt.Errorf("valid_for: %w", err)
		}
		a.ValidUntil = now.Add(lifetime)
	}
	if a.Expires, err = artifact.ParseExpiry(document.Expires); err != nil {
		return a, err
	}
	switch {
	case document.Index != "" && document.Index != index:
		return a, fmt.Errorf("the result is for index %.80s, not %s", document.Index, index)
	case a.Verdict != Allow && a.Verdict != Deny && a.Verdict != Hold:
		return a, fmt.Errorf("unknown verdict %.80q: want allow, deny, or hold", a.Verdict)
	case a.Verdict != Allow && strings.TrimSpace(a.Reason) == "":
		return a, fmt.Errorf("the verdict %s requires a reason", a.Verdict)
	case len(a.Reason) > maxReason:
		return a, fmt.Errorf("reason exceeds %d bytes", maxReason)
	case a.Verdict != Allow && !a.Expires.IsZero():
		return a, errors.New("only allowances can expire")
	case !a.Expires.IsZero() && !a.Expires.After(now):
		return a, fmt.Errorf("the allowance expired on %s", a.Expires.Format(time.DateOnly))
	}
	return a, nil
}
