package repository

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// ExpiredError reports that the allow decision of a gate has expired.
type ExpiredError struct{ Record DecisionRecord }

// Kind returns [provider.Refused].
func (e *ExpiredError) Kind() provider.ErrorKind { return provider.Refused }

func (e *ExpiredError) Error() string {
	return fmt.Sprintf("the allow decision of gate %q expired on %s", e.Record.GateName(), e.Record.Expires.UTC().Format(time.DateOnly))
}

// CheckExpired returns an *[ExpiredError] if the last allow decision of a gate about an
// index has expired.
func CheckExpired(ctx context.Context, repo Reader, index digest.Digest) error {
	records, err := Decisions(ctx, repo, index, artifact.DecisionGate)
	if err != nil && !errors.Is(err, ErrNoReferrersList) {
		return err
	}
	if expired := Expired(records); expired != nil {
		return expired
	}
	return nil
}

// Expired returns an error if the last allow decision of a gate has expired. Otherwise,
// it returns nil. The records must be sorted, oldest first. Only the gate can renew its
// decision, so later decisions by others have no effect.
func Expired(records []DecisionRecord) *ExpiredError {
	allows := func(r DecisionRecord) bool {
		return r.Kind == artifact.DecisionGate && r.Verdict == artifact.VerdictAllow
	}
	for i, r := range records {
		renews := func(later DecisionRecord) bool { return allows(later) && later.IsByGate(r.Gate) }
		if allows(r) && !r.Expires.IsZero() && !time.Now().Before(r.Expires) && !slices.ContainsFunc(records[i+1:], renews) {
			return &ExpiredError{r}
		}
	}
	return nil
}
