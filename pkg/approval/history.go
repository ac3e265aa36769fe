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
// [Examine] describes the fields of the records.
func History(ctx context.Context, repo repository.Reader, a provider.Address, v provider.Version) ([]repository.DecisionRecord, error) {
	denial, denied, err := repository.ReadDenial(ctx, repo, v)
	if err != nil {
		return nil, err
	}
	index, r := denial.Index, provider.Release{Address: a, Version: v}
	for _, tag := range []string{artifact.Tag(v), artifact.PendingTag(v), artifact.PrunedTag(v)} {
		i, err := repository.Inspect(ctx, repo, tag, repository.DepthIndex)
		if err != nil {
			return nil, err
		}
		if i.Exists() && !i.IsDenial() {
			index, r.Packages = i.Digest, i.Packages(a, v)
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
	records = Examine(records, repo, r, index)
	listed := func(r repository.DecisionRecord) bool { return r.Digest == denial.Digest }
	if denied && !slices.ContainsFunc(records, listed) { // the tag denies the version even if its record is lost
		denial = Examine([]repository.DecisionRecord{denial}, repo, r, denial.Index)[0]
		denial.Foreign = false
		records = append(records, denial)
	}
	return records, err
}

// Examine sets Key and Foreign in the records about a release. It removes statements,
// signatures, and keys, because they can be large. It changes the records in place.
func Examine(records []repository.DecisionRecord, repo repository.Reader, release provider.Release, index digest.Digest) []repository.DecisionRecord {
	about := repository.About(repo, release, index)
	for i := range records {
		r := &records[i]
		r.Key = trust.Keyring{}.DecisionSigner(r.Signed())
		r.Foreign = !appliesTo(r.Decision, about)
		r.Statement, r.Signature, r.Keys = nil, nil, nil
	}
	return records
}

// appliesTo reports whether a decision applies to a release, or at least to one of its zips.
func appliesTo(d, about artifact.Decision) bool {
	if d.IsAbout(about) {
		return true
	}
	for platform, zip := range about.Packages {
		about.Packages = map[string]digest.Digest{platform: zip}
		if d.IsAbout(about) {
			return true
		}
	}
	return false
}
