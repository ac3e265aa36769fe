package gate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/internal/extprog"
	"github.com/tofu-oci/tofu-oci/internal/text"
)

const (
	// maxResult is the maximum size of a program's output in bytes.
	maxResult = 64 << 10
	// maxResultValues is the maximum number of JSON values in the output.
	maxResultValues = 64
	// maxReason is the maximum size of a reason in bytes.
	maxReason = 4 << 10
)

// Result is a program's verdict on a release.
type Result struct {
	Verdict Verdict
	// Reason is one line of text. It is required unless the verdict is [Allow].
	Reason string
}

// repeatedKey returns a key that an object contains twice, in any spelling that
// encoding/json accepts, or "". The last value would apply, so a program that inserts
// text from a release into its output could be made to return a different verdict.
func repeatedKey(object []byte) string {
	var keys []string
	decoder := json.NewDecoder(bytes.NewReader(object))
	if _, err := decoder.Token(); err != nil {
		return ""
	}
	for decoder.More() {
		token, err := decoder.Token()
		key, isKey := token.(string)
		var value json.RawMessage
		if err != nil || !isKey || decoder.Decode(&value) != nil {
			return ""
		}
		if slices.ContainsFunc(keys, func(k string) bool { return strings.EqualFold(k, key) }) {
			return key
		}
		keys = append(keys, key)
	}
	return ""
}

// parseResult parses a program's output, which must refer to the given index. Unknown
// fields are errors, because ignoring a condition on the verdict would approve the release
// without it.
func parseResult(data []byte, index digest.Digest) (r Result, err error) {
	var document struct {
		Verdict Verdict       `json:"verdict"`
		Reason  string        `json:"reason"`
		Index   digest.Digest `json:"index"`
	}
	if err := bounded.CheckJSON(data, maxResultValues); err != nil {
		return r, err
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&document); err != nil {
		return r, bounded.JSONError(err)
	}
	if name := repeatedKey(data); name != "" {
		return r, fmt.Errorf("the key %.80q is repeated", name)
	}
	r = Result{Verdict: document.Verdict, Reason: extprog.OneLine([]byte(text.Redact(document.Reason)))}
	switch {
	case document.Index != "" && document.Index != index:
		return r, fmt.Errorf("the result is for index %.80s, not %s", document.Index, index)
	case r.Verdict != Allow && r.Verdict != Deny && r.Verdict != Hold:
		return r, fmt.Errorf("unknown verdict %.80q: want allow, deny, or hold", r.Verdict)
	case r.Verdict != Allow && strings.TrimSpace(r.Reason) == "":
		return r, fmt.Errorf("the verdict %s requires a reason", r.Verdict)
	case len(r.Reason) > maxReason:
		return r, fmt.Errorf("reason exceeds %d bytes", maxReason)
	}
	return r, nil
}
