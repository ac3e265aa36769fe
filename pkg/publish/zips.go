package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"sync"

	"github.com/opencontainers/go-digest"
	"golang.org/x/sync/errgroup"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// zipKey identifies a package. Two platforms can have identical zips but different
// SBOMs.
type zipKey struct {
	platform provider.Platform
	digest   digest.Digest
}

// sendZips sends the zips of a plan concurrently. It returns the release with the
// sizes, h1 hashes, and SBOMs that were previously unknown. It doesn't resend zips that
// earlier rounds have sent.
func (j *job) sendZips(ctx context.Context, f *facts, p Plan) (provider.Release, error) {
	release := p.release
	release.Packages = slices.Clone(release.Packages)
	sent := maps.Clone(f.sent)
	if sent == nil {
		sent = map[zipKey]PackageResult{}
	}
	var mu sync.Mutex
	var omitted []*provider.PlatformError // their zips don't exist
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(j.concurrency())
	for _, pkg := range release.Packages {
		if !p.reads(pkg.Platform) {
			continue
		}
		if _, isSent := f.sent[zipKey{pkg.Platform, pkg.Digest}]; isSent {
			continue
		}
		group.Go(func() error {
			done, err := j.sendZip(groupCtx, pkg, p.zips[pkg.Digest], p.describes)
			if isGone(err) && len(j.options.Platforms) == 0 {
				mu.Lock()
				defer mu.Unlock()
				omitted = append(omitted, &provider.PlatformError{Address: j.address, Version: j.version, Wanted: pkg.Platform, Listed: err})
				return nil
			}
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			sent[zipKey{pkg.Platform, pkg.Digest}] = done
			return nil
		})
	}
	err := group.Wait()
	f.sent = sent
	if err == nil && len(omitted) > 0 {
		release, err = f.omit(release, p, omitted)
	}
	for i, pkg := range release.Packages {
		done, isSent := sent[zipKey{pkg.Platform, pkg.Digest}]
		if !isSent || !p.reads(pkg.Platform) {
			continue
		}
		pkg.Size, pkg.H1, pkg.H1Unpacked = done.Package.Size, done.Package.H1, done.Package.H1Unpacked
		if !hasSBOM(pkg) {
			isOther := func(d provider.Document) bool { return d.Kind != provider.KindSBOM }
			pkg.Documents = slices.Concat(pkg.Documents, slices.DeleteFunc(slices.Clone(done.Package.Documents), isOther))
		}
		release.Packages[i] = pkg
	}
	return release, err
}

// isGone reports whether the source doesn't have a file that it lists.
func isGone(err error) bool {
	response, ok := errors.AsType[*provider.StatusError](err)
	return ok && (response.Status == http.StatusNotFound || response.Status == http.StatusGone)
}

// omit removes the platforms whose zips don't exist from the release. If the plan sends
// no other zip, omit returns the error about the first platform.
func (f *facts) omit(release provider.Release, p Plan, omitted []*provider.PlatformError) (provider.Release, error) {
	slices.SortFunc(omitted, func(a, b *provider.PlatformError) int { return a.Wanted.Compare(b.Wanted) })
	isOmitted := func(pkg provider.Package) bool {
		return slices.ContainsFunc(omitted, func(e *provider.PlatformError) bool { return e.Wanted == pkg.Platform })
	}
	isSent := func(pkg provider.Package) bool { return p.reads(pkg.Platform) && !isOmitted(pkg) }
	if !slices.ContainsFunc(release.Packages, isSent) {
		return release, omitted[0].Listed
	}
	release.Packages = slices.DeleteFunc(slices.Clone(release.Packages), isOmitted)
	f.release.Packages = slices.DeleteFunc(slices.Clone(f.release.Packages), isOmitted)
	for _, e := range omitted {
		e.Have = f.release.Platforms()
	}
	f.release.Omitted = slices.Concat(f.release.Omitted, omitted)
	return release, nil
}

// reads reports whether a platform's zip is sent, or is read to generate its SBOM.
func (p Plan) reads(platform provider.Platform) bool {
	return slices.Contains(p.Send, platform) || slices.Contains(p.described, platform)
}

// hasSBOM reports whether the package already has an SBOM.
func hasSBOM(pkg provider.Package) bool { return containsSBOM(pkg.Documents) }

func containsSBOM(documents []provider.Document) bool {
	return slices.ContainsFunc(documents, func(d provider.Document) bool { return d.Kind == provider.KindSBOM })
}

// sendZip sends one zip unless the repository has it, and completes the package's
// metadata. If the h1 hash is required but neither the source nor the tagged index
// contains it, sendZip reads the stored zip. An interrupted run can cause this.
func (j *job) sendZip(ctx context.Context, pkg provider.Package, stored storedZip, describes bool) (done PackageResult, err error) {
	known, isLocal := contentFacts{h1: cmp.Or(pkg.H1, stored.h1), h1Unpacked: pkg.H1Unpacked}, j.repo.Capabilities().BlobPath != nil
	if known.h1 == stored.h1 {
		known.h1Unpacked = cmp.Or(known.h1Unpacked, stored.h1Unpacked)
	}
	makesSBOM := j.options.SBOM != nil && !hasSBOM(pkg)
	t := zipTransfer{job: j, pkg: pkg, describes: describes && !hasSBOM(pkg), checks: !stored.missing}
	if isSmall(pkg.Size) && !isLocal && !stored.listed {
		t.checks = false
	}
	if t.checks && (isLocal || stored.listed || pkg.Size >= 0 || makesSBOM) {
		t.checks = false
		if t.stored, err = j.isStored(ctx, &t.pkg); err != nil {
			return done, err
		}
	}
	readsStored := t.describes || !j.options.NoH1 && (known.h1 == "" || stored.rehashes || isLocal && stored.h1 != known.h1)
	if t.stored {
		if t.pkg.H1, t.found = known.h1, known; !readsStored && !makesSBOM {
			return t.result(), nil
		}
	}
	slot, err := transfer.NewSlot(ctx, j.transfers(), pkg.Size)
	if err != nil {
		return done, err
	}
	defer slot.Release()
	t.retrier = transfer.Retrier{Backoff: j.repo.Capabilities().Backoff, Progress: j.Progress, Slot: slot}
	if j.can.Path != nil {
		t.path, _ = j.can.Path(pkg)
	}
	if makesSBOM {
		dir, err := atomicfile.NewScratchDir(j.TempDir)
		if err != nil {
			return done, fmt.Errorf("storing %s in a temporary directory: %w", pkg.Filename, err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		if err := t.makeSBOM(ctx, dir); err != nil {
			return done, err
		}
	}
	if stored.missing {
		err = repository.ReplaceBlob(ctx, j.repo, pkg.Digest, func() (int64, error) {
			err := t.send(ctx)
			return t.pkg.Size, err
		})
	} else if !t.stored {
		err = t.send(ctx)
	}
	if t.stored && err == nil {
		if t.found = known; readsStored {
			t.found, err = t.readContents(ctx)
		}
	}
	if t.sbom.Name != "" {
		t.pkg.Documents = append(slices.Clip(t.pkg.Documents), t.sbom)
	}
	return t.result(), err
}

// resendZips returns a function that sends a zip of the plan again, although the
// repository has reported that it has the zip.
func (j *job) resendZips(f *facts, p Plan) func(context.Context, digest.Digest) error {
	var mu sync.Mutex
	return func(ctx context.Context, zip digest.Digest) error {
		i := slices.IndexFunc(p.release.Packages, func(pkg provider.Package) bool { return pkg.Digest == zip && slices.Contains(p.Send, pkg.Platform) })
		if i < 0 {
			return repository.ErrNotFound // only the repository has the zip
		}
		pkg, stored := p.release.Packages[i], p.zips[zip]
		stored.missing = true
		done, err := j.sendZip(ctx, pkg, stored, p.describes)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		f.sent[zipKey{pkg.Platform, zip}] = done
		return nil
	}
}

// isSmall reports whether sending a zip costs no more than looking for it in a registry.
func isSmall(size int64) bool { return 0 <= size && size <= schedule.MaxSmall }

// isStored reports whether the repository has the zip, and sets the package's size.
func (j *job) isStored(ctx context.Context, pkg *provider.Package) (bool, error) {
	size, err := j.repo.Stat(ctx, artifact.ZipDescriptor(*pkg))
	if errors.Is(err, repository.ErrNotFound) || errors.Is(err, repository.ErrNoRepository) {
		return false, nil
	}
	if err != nil || pkg.Size >= 0 && pkg.Size != size {
		return false, err
	}
	pkg.Size = size
	return true, nil
}
