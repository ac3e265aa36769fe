package publish

import (
	"context"
	"errors"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// job identifies the release to publish, its source, and the target repository.
type job struct {
	*Publisher
	src     provider.Source
	can     provider.Capabilities
	repo    repository.Repository
	address provider.Address
	version provider.Version
	options Options
	// action is the action for the gates.
	action string
}

// part is a part of the facts. It is gathered when a plan needs it.
type part int

const (
	needNothing      part = iota
	needDenial            // the denial of the version, and the tag list
	needIndex             // the index that the tag points to, and the provider of the repository
	needPlatforms         // the wanted platforms, inspected to the depth that Check specifies
	needRelease           // the source's release
	needOverlap           // the stored platforms that the release also has
	needAll               // all stored content, with its documents
	needSigned            // the unchanged platforms with their documents
	needReferrers         // the source's documents about all platforms
	needAttestations      // the attestations of the packages that the plan adds
	needUnattested        // the unchanged packages that have no attestations
)

// gather adds one [part] of the facts to f.
func (j *job) gather(ctx context.Context, f *facts, needs part) (err error) {
	f.known[needs] = true
	switch needs {
	case needDenial:
		return j.readDenial(ctx, f)
	case needIndex:
		return j.readIndex(ctx, f)
	case needRelease:
		f.release, err = j.src.Release(ctx, j.address, j.version, j.options.Platforms...)
		if err == nil {
			f.release, err = j.announceSignature(ctx, f.release)
		}
		return err
	case needReferrers:
		if j.can.Documents != nil {
			f.documents, err = j.can.Documents(ctx, f.release)
		}
		return err
	case needAttestations:
		return j.readAttestations(ctx, f)
	case needUnattested:
		return j.readUnattested(ctx, f)
	}
	return j.readStored(ctx, f, needs)
}

// readDenial reads the denial of the version. If the repository has no tag list, it
// probably doesn't exist yet. apply checks the denial again.
func (j *job) readDenial(ctx context.Context, f *facts) (err error) {
	f.tags, err = j.repo.Tags(ctx)
	f.unlisted = err
	if errors.Is(err, repository.ErrNoRepository) || errors.Is(err, repository.ErrNotFound) {
		return nil
	}
	err = repository.CheckDenied(ctx, j.repo, j.version)
	if denied, ok := errors.AsType[*repository.DeniedError](err); ok {
		f.denial = &denied.Record
		return nil
	}
	if err == nil && j.policy().listed {
		err = f.unlisted
	}
	return err
}
