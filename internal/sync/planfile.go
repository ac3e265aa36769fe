package sync

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

const (
	// maxPlanFile is the maximum size of a plan file in bytes. maxPlanValues is the
	// maximum number of JSON values in a plan file. An action has about ten values and
	// is about 500 bytes long.
	maxPlanFile   = 256 << 20
	maxPlanValues = 8 << 20
)

// StaleError reports that a plan can't be applied, because one of its inputs has
// changed.
type StaleError struct {
	// Reason names the changed input.
	Reason string
}

func (e *StaleError) Error() string { return "the plan is out of date: " + e.Reason }

// Kind returns [provider.Conflict].
func (e *StaleError) Kind() provider.ErrorKind { return provider.Conflict }

// Write writes a plan to a file.
func (p *Plan) Write(path string) error {
	return atomicfile.Write(path, 0o644, func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		return encoder.Encode(p)
	})
}

// ReadPlan reads a plan that [Plan.Write] has written. The file is not trusted, so
// don't apply the plan directly. Instead, pass it to [Plan.Restrict].
func ReadPlan(path string) (*Plan, error) {
	data, err := bounded.ReadFileOrPipe(path, maxPlanFile)
	if err != nil {
		return nil, err
	}
	var p Plan
	if err := bounded.DecodeJSON(data, &p, maxPlanValues); err != nil {
		return nil, provider.Errorf(provider.Malformed, "%s: not a plan: %w", path, err)
	}
	if p.Declaration.Digest == "" || p.CheckLevel == "" { // for example, the output of sync apply --result-file
		return nil, provider.Errorf(provider.Malformed, "%s: not a plan written by sync plan --plan-file", path)
	}
	return &p, nil
}

// Restrict removes the actions that are not in an approved plan. Everything else in the
// approved plan is ignored, so the approved plan can't add actions or relax a policy.
// If the approved plan was made from a different declaration or trust file, or if a tag
// of an action has moved, the error is a *[StaleError]. If the approved plan is for a
// different shard, the error is of kind [provider.Misuse].
func (p *Plan) Restrict(approved *Plan) error {
	switch {
	case p.Shard != approved.Shard && approved.Shard == (Shard{}):
		return provider.Errorf(provider.Misuse, "the plan is for all shards; omit --shard %s", p.Shard)
	case p.Shard != approved.Shard:
		return provider.Errorf(provider.Misuse, "the plan is for shard %s; add --shard %[1]s", approved.Shard)
	case p.Declaration.Digest != approved.Declaration.Digest:
		return &StaleError{p.Declaration.Path + " has changed"}
	case p.Trust != approved.Trust:
		return &StaleError{"the trust file has changed"}
	}
	from := map[actionKey]digest.Digest{}
	for _, a := range approved.Actions {
		from[a.key()] = a.From
	}
	var kept []Action
	for _, a := range p.Actions {
		was, isApproved := from[a.key()]
		switch {
		case a.Kind.Changes() && !isApproved:
			continue
		case a.Kind.Changes() && was != a.From:
			return &StaleError{fmt.Sprintf("the tag %s in %s has moved from %s to %s", a.Tag, a.Repository, orNone(was), orNone(a.From))}
		}
		kept = append(kept, a)
	}
	p.Actions = kept
	p.count()
	return nil
}

// actionKey identifies an action across plans.
type actionKey struct {
	kind                        Kind
	target, repository, tag, by string
	address                     provider.Address
	version                     provider.Version
}

func (a Action) key() actionKey {
	return actionKey{a.Kind, a.Target, a.Repository, a.Tag, a.Source, a.Provider, a.Version}
}

func orNone(d digest.Digest) string {
	if d == "" {
		return "nothing"
	}
	return d.String()
}

// MarshalJSON encodes an action with the text of Err.
func (a Action) MarshalJSON() ([]byte, error) {
	type plain Action
	text := ""
	if a.Err != nil {
		text = a.Err.Error()
	}
	return json.Marshal(struct {
		plain
		Error string `json:"error,omitempty"`
	}{plain(a), text})
}

// UnmarshalJSON parses the output of MarshalJSON.
func (a *Action) UnmarshalJSON(data []byte) (err error) {
	type plain Action
	var parsed struct {
		*plain
		Provider string `json:"provider"`
		Version  string `json:"version"`
		Error    string `json:"error"`
	}
	parsed.plain = (*plain)(a)
	if err := json.Unmarshal(data, &parsed); err != nil {
		return err
	}
	if a.Provider, err = ParseAddress(parsed.Provider); err != nil {
		return err
	}
	if parsed.Version != "" {
		if a.Version, err = provider.ParseVersion(parsed.Version); err != nil {
			return err
		}
	}
	if parsed.Error != "" {
		a.Err = errors.New(parsed.Error)
	}
	return nil
}

// UnmarshalText parses the output of String.
func (s *Shard) UnmarshalText(text []byte) (err error) {
	*s, err = ParseShard(string(text), func(string) string { return "" })
	return err
}
