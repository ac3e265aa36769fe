package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/module"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// maxTag is the maximum length of a tag in a registry.
const maxTag = 128

// listAge is the maximum age of an index that is needed only for a list of versions. It
// is long, because a provider can have hundreds of versions, whose signatures rarely
// change.
const listAge = time.Hour

// maxUnreadable is the maximum number of unreadable releases that are read, starting
// with the newest, to determine the provider or module in a repository.
const maxUnreadable = 4

// open returns the repositories that might contain a provider or module, in order of
// preference. It skips templates that can't be expanded for the address. For example, a
// repository name can't contain a host with a port.
func (rc *repositoryCache) open(q query) ([]candidate, error) {
	if all, found := rc.opened.Lookup(q.key()); found {
		return all, nil
	}
	var all []candidate
	for _, t := range q.from {
		ref, err := t.Repository(q.address)
		if _, invalid := errors.AsType[*template.ReferenceError](err); invalid {
			continue
		}
		if err != nil {
			return nil, err
		}
		repo, err := rc.options.Open(ref)
		if err != nil {
			rc.options.Events.onFailure(err)
			return nil, err
		}
		in := candidate{t, ref, repo, q.address, rc.unannotated(t, ref)}
		if q.isModule() {
			in.repo, in.subject = repository.ModuleReader(repo), module.Reference{Repository: ref}.Release().Address
		}
		all = append(all, in)
	}
	if len(all) == 0 {
		return nil, q.notFound()
	}
	return all, nil
}

// notFound returns the error for a provider or module that is in no repository.
func (q query) notFound() error {
	if q.isModule() {
		return withCause(provider.ErrProviderNotFound, http.StatusNotFound, fmt.Sprintf("no repository has the module %s", q.address))
	}
	return fmt.Errorf("%w: no repository contains %s", provider.ErrProviderNotFound, q.address)
}

// list returns the versions of a provider or module if the caller can read it.
func (rc *repositoryCache) list(ctx context.Context, q query) (listing, cacheState, error) {
	known, state, err := rc.find(ctx, q)
	if err := q.authorizationError(known.stored, err); err != nil {
		return listing{}, state, err
	}
	known.versions, err = rc.approved(ctx, q, known)
	return known, state, err
}

// find returns the versions of a provider or module in the first repository that
// contains it. The result doesn't depend on the caller, because an address must refer to
// the same provider or module for everyone.
func (rc *repositoryCache) find(ctx context.Context, q query) (listing, cacheState, error) {
	ctx, cancel := context.WithTimeout(ctx, rc.options.timeouts.response) // shared by the requests to all repositories
	defer cancel()
	candidates, err := rc.open(q)
	if err != nil {
		return listing{}, cacheState{}, err
	}
	for choice, in := range candidates {
		known := listing{candidate: in}
		var state cacheState
		known.taggedVersions, state, err = rc.tags(ctx, in.repo, rc.listings.maxAge)
		if repository.IsUnknownProvider(err) {
			continue // for any other error, the next repository must not replace this one
		}
		if err == nil {
			rc.opened.Put(q.key(), candidates)
			known.stored, err = rc.owner(ctx, q, known)
		}
		switch {
		case err == nil:
			return known, state, nil
		case !isForeign(err):
			return listing{}, state, err
		case choice == len(candidates)-1:
			// Pull-through can't write to the last repository, because it belongs to a
			// different provider or module.
			return listing{}, state, fmt.Errorf("%w: %w%s", q.notFound(), err, aliasAdvice(err))
		}
	}
	return listing{}, cacheState{}, q.notFound()
}

// tags returns the versions in the tags of a repository.
func (rc *repositoryCache) tags(ctx context.Context, repo repository.Reader, maxAge time.Duration) (taggedVersions, cacheState, error) {
	return rc.listings.getWithin(ctx, repo.String(), maxAge, func(ctx context.Context) (taggedVersions, error) {
		tags, err := repo.Tags(ctx)
		known := taggedVersions{versions: artifact.Tags(tags).Released(), pending: artifact.Tags(tags).Pending(), denied: artifact.Tags(tags).Denied()}
		newest, tag := artifact.Tags(tags).Newest()
		for _, v := range newest[:min(len(newest), maxUnreadable)] {
			known.newest = append(known.newest, tag(v))
		}
		return known, err
	})
}

// unannotated returns the address of a repository's releases without an annotation. The
// address is unknown unless the repository name determines it.
func (rc *repositoryCache) unannotated(t repositoryTemplate, ref template.Reference) provider.Address {
	addresses, _ := t.Match(ref)
	if len(addresses) == 1 && !t.UsesHostname() {
		addresses[0].Host = rc.options.Unannotated
	}
	if len(addresses) == 1 && addresses[0].Host != "" {
		return addresses[0]
	}
	_, isModule := t.(template.ModuleTemplate)
	return unknownAddress(isModule)
}

// owner returns the address under which the releases in a repository are stored. The
// newest readable release determines this address. owner returns the errors of ownerOf
// and of the repository.
func (rc *repositoryCache) owner(ctx context.Context, q query, l listing) (provider.Address, error) {
	if len(l.newest) == 0 {
		return q.address, nil // an empty repository reveals nothing
	}
	for _, tag := range l.newest {
		i, _, err := rc.read(ctx, l.candidate, tag, max(listAge, rc.indexes.maxAge))
		switch {
		case err == nil:
			return q.ownerOf(i.Inspection, l.unannotated)
		case !isUnreadable(err) && !isAbsent(err):
			return provider.Address{}, err
		}
	}
	return l.unannotated, nil
}

// ownerOf returns the address under which a release is stored. It returns a
// *[repository.ProviderMismatchError] or errForeignModule if the release must not be
// served for the requested address.
func (q query) ownerOf(found repository.Inspection, unannotated provider.Address) (stored provider.Address, err error) {
	stored, annotation := unannotated, artifact.AnnotationProvider
	if q.isModule() {
		annotation = artifact.AnnotationModule
	}
	stated := found.Index.Annotations[annotation]
	if stated != "" {
		stored, _, err = parseAddress(stated, q.isModule())
	}
	switch {
	case err == nil && (stored.Host == "" || q.aliases.Allow(q.address, stored)):
		return stored, nil
	case q.isModule():
		return unknownAddress(true), errForeignModule
	}
	return provider.Address{}, &repository.ProviderMismatchError{Tag: found.Tag, Wanted: q.address, Provider: cmp.Or(stated, stored.String())}
}

// index returns the index of the requested version.
func (s *Server) index(x *exchange) (index, cacheState, error) {
	found, state, err := s.repos.index(x.r.Context(), x.query, x.version)
	if err == nil {
		x.event.Repository = found.repo.String()
	} else if isAbsent(err) && slices.Contains(found.denied, x.version) && s.seesPending(x) {
		err = fmt.Errorf("%w: %s %s is denied", provider.ErrVersionNotFound, x.query.address, x.version)
	}
	return found, state, err
}

// index returns the index of a version if the caller can read it. The listing in the
// result is set if the caller can read the provider or module, even if index returns an
// error.
func (rc *repositoryCache) index(ctx context.Context, q query, v provider.Version) (index, cacheState, error) {
	known, listed, err := rc.find(ctx, q)
	if err == nil && slices.Contains(known.versions, v) {
		i, read, err := rc.indexIn(ctx, q, known, v, rc.indexes.maxAge)
		if err == nil {
			err = rc.checkApproved(ctx, q, i)
		}
		return i, listed.merge(read), err
	}
	if err := q.authorizationError(known.stored, err); err != nil {
		return index{}, listed, err
	}
	return index{listing: known}, listed, fmt.Errorf("%w: %s %s: %s", provider.ErrVersionNotFound, q.address, v, provider.SomeVersions(known.versions))
}

// indexIn returns the index of a version in a listing if the caller can read it.
func (rc *repositoryCache) indexIn(ctx context.Context, q query, known listing, v provider.Version, maxAge time.Duration) (index, cacheState, error) {
	i, state, err := rc.release(ctx, q, known, v, maxAge)
	stored := i.stored
	if err != nil {
		stored = known.stored
	}
	if !q.caller.MayRead(stored) {
		return index{}, state, q.refusal(stored)
	}
	return i, state, q.withoutForeignAddress(err)
}

// release returns the index of a version in a repository. It doesn't check the caller's
// access.
func (rc *repositoryCache) release(ctx context.Context, q query, known listing, v provider.Version, maxAge time.Duration) (index, cacheState, error) {
	i, state, err := rc.read(ctx, known.candidate, artifact.Tag(v), maxAge)
	i.listing, i.version = known, v
	if err == nil {
		i.stored, err = q.ownerOf(i.Inspection, known.unannotated)
	}
	return i, state, err
}

// read returns the index that a tag points to. It doesn't check the provider or module.
func (rc *repositoryCache) read(ctx context.Context, in candidate, tag string, maxAge time.Duration) (index, cacheState, error) {
	return rc.indexes.getWithin(ctx, contentKey{in.repo.String(), tag, in.subject.IsModule()}, maxAge, func(ctx context.Context) (index, error) {
		found, err := repository.Inspect(ctx, in.repo, tag, repository.DepthIndex)
		format := found.CheckFormat(in.subject)
		switch {
		case err != nil:
			return index{}, err
		case found.Dangling:
			return index{}, &repository.DanglingTagError{Tag: found.Tag, Index: ocispec.Descriptor{Digest: found.Digest}, Err: repository.ErrNotFound}
		case !found.Exists():
			return index{}, fmt.Errorf("%w: the tag %s: %w", provider.ErrVersionNotFound, tag, found.Absent)
		case format != nil:
			return index{}, format
		}
		// A parsed index uses about four times the memory of its JSON.
		weight := 4 * int64(len(found.Bytes))
		found.Bytes = nil
		return index{Inspection: found, weight: weight}, nil
	})
}

// storedPackage returns the package for a platform. Its manifest is read only once.
func (rc *repositoryCache) storedPackage(ctx context.Context, q query, i index, p provider.Platform) (storedPackage, error) {
	if !i.HasPlatform(p) {
		return storedPackage{}, &provider.PlatformError{Address: q.address, Version: i.version, Wanted: p, Have: i.Index.Platforms()}
	}
	t, _, err := rc.manifests.get(ctx, i.key(q, p), func(ctx context.Context) (storedPackage, error) {
		deeper, err := i.InspectMore(ctx, i.repo, repository.DepthManifests, p)
		if err != nil {
			return storedPackage{}, err
		}
		found := deeper.Platforms[p]
		if found.Err != nil {
			return storedPackage{}, fmt.Errorf("reading the manifest of %s %s for %s: %w", q.address, i.version, p, found.Err)
		}
		pkg := found.Package(i.subject, i.version)
		if err := pkg.CheckIdentity(); err != nil && !q.isModule() { // other tools choose any name for a module
			return storedPackage{}, err
		}
		if stated, has := found.Target.Digest(); has && stated != pkg.Digest {
			return storedPackage{}, &artifact.FormatError{Problem: fmt.Sprintf("index lists the zip %s for %s, but its manifest lists %s", stated, p, pkg.Digest)}
		}
		pkg.Filename = q.filename(i.version, p)
		return storedPackage{repo: i.repo, zip: found.Manifest.Zip, pkg: pkg}, nil
	})
	return t, err
}

// decisions returns the pending and denied versions in all repositories that might
// contain the provider or module. If a repository can't list tags, decisions checks the
// tags of the requested versions.
func (rc *repositoryCache) decisions(ctx context.Context, q query, maxAge time.Duration, requested ...provider.Version) (all taggedVersions, state cacheState, err error) {
	ctx, cancel := context.WithTimeout(ctx, rc.options.timeouts.response)
	defer cancel()
	candidates, err := rc.open(q)
	if err != nil {
		return taggedVersions{}, cacheState{}, err
	}
	for _, in := range candidates {
		known, tagState, err := rc.tags(ctx, in.repo, maxAge)
		if repository.IsUnknownProvider(err) && len(requested) > 0 {
			known, tagState, err = rc.decisionsByTag(ctx, in, maxAge, requested)
		}
		if err == nil && len(known.pending)+len(known.denied) > 0 {
			_, err = rc.owner(ctx, q, listing{candidate: in, taggedVersions: known})
		}
		switch state = state.merge(tagState); {
		case repository.IsUnknownProvider(err) || isForeign(err): // the decisions concern a different provider or module
		case err != nil:
			return taggedVersions{}, state, err
		default:
			all.pending, all.denied = append(all.pending, known.pending...), append(all.denied, known.denied...)
		}
	}
	return all, state, nil
}

// decisionsByTag returns the given versions that are pending or denied in a repository
// that can't list tags.
func (rc *repositoryCache) decisionsByTag(ctx context.Context, in candidate, maxAge time.Duration, versions []provider.Version) (found taggedVersions, state cacheState, err error) {
	exists := func(tag string) bool {
		if len(tag) > maxTag || err != nil {
			return false
		}
		_, tagState, failure := rc.read(ctx, in, tag, maxAge)
		state = state.merge(tagState)
		if failure != nil && !isUnreadable(failure) && !isAbsent(failure) {
			err = failure
		}
		return failure == nil || isUnreadable(failure)
	}
	for _, v := range versions {
		if exists(artifact.DeniedTag(v)) {
			found.denied = append(found.denied, v)
		}
		if exists(artifact.PendingTag(v)) {
			found.pending = append(found.pending, v)
		}
	}
	return found, state, err
}
