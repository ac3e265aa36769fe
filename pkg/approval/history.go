package approval

import (
	"context"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// History returns the recorded decisions about a version, oldest first. The version can
// be released, pending, denied, or pruned. Otherwise, History returns
// [provider.ErrVersionNotFound]. It also returns errors from [repository.Decisions].
// For the fields of the records, see [Examine].
func History(ctx context.Context, repo repository.Reader, a provider.Address, v provider.Version) ([]repository.DecisionRecord, error) {
	denial, denied, err := repository.ReadDenial(ctx, repo, v)
	if err != nil {
		return nil, err
	}
	index := denial.Index
	for _, tag := range []string{artifact.Tag(v), artifact.PendingTag(v), artifact.PrunedTag(v)} {
		i, err := repository.Inspect(ctx, repo, tag, repository.DepthIndex)
		if err != nil {
			return nil, err
		}
		if i.Exists() && !i.IsDenial() {
			index = i.Digest
			break
		}
	}
	if index == "" && !denied {
		return nil, &provider.VersionError{Address: a, Version: v, Where: repo.String()}
	}
	var records []repository.DecisionRecord
	if index != "" {
		records, err = repository.Decisions(ctx, repo, index)
	}
	records = Examine(records, repo, a, v, index)
	listed := func(r repository.DecisionRecord) bool { return r.Digest == denial.Digest }
	if denied && !slices.ContainsFunc(records, listed) { // the tag denies the version even if its record is lost
		denial = Examine([]repository.DecisionRecord{denial}, repo, a, v, denial.Index)[0]
		denial.Foreign = false
		records = append(records, denial)
	}
	return records, err
}

// Examine sets Key and Foreign in the records about an index, and removes statements,
// signatures, and keys, which can be large. It changes the records in place.
func Examine(records []repository.DecisionRecord, repo repository.Reader, a provider.Address, v provider.Version, index digest.Digest) []repository.DecisionRecord {
	about := repository.NewDecision(repo, "", "", a, v)
	about.Index = index
	for i := range records {
		r := &records[i]
		r.Key = trust.Keyring{}.DecisionSigner(artifact.SignedDecision{Decision: r.Decision, Statement: r.Statement, Signature: r.Signature, Keys: r.Keys})
		r.Foreign = !r.IsAbout(about)
		r.Statement, r.Signature, r.Keys = nil, nil, nil
	}
	return records
}
