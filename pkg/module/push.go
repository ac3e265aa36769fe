package module

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/packagezip"
	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// maxMoves is the maximum number of retries after another run has moved the tag.
const maxMoves = 20

// Package is a version of a module to be pushed.
type Package struct {
	// Name is the name of the module. The file name of the zip is NAME_VERSION.zip.
	Name    string
	Version provider.Version
	Files   []File
	// Documents contains documents about the zip, such as SBOMs and provenance.
	Documents []provider.Document
	// Annotations contains additional annotations of the manifest.
	Annotations map[string]string
	// address identifies the module in progress reports.
	address provider.Address
}

// PushOptions configures [Push]. The zero value pushes the package under the tag of its
// version.
type PushOptions struct {
	// Latest also writes the tag [LatestTag]. It has no effect with Stage.
	Latest bool
	// Stage writes the pending tag of the version instead of the version's tag.
	Stage bool
	// Force replaces conflicting content instead of returning an error, and overrides a
	// denial.
	Force bool
	// Gates decide whether the package can be tagged. If a gate holds the package, its
	// pending tag is written instead.
	Gates publish.Gates
	// DryRun computes the result without sending anything or running gates.
	DryRun bool
	// Signer, if not nil, signs a checksum file for the zip, unless the tagged package
	// contains a signature for the same zip. trust.Signer implements this interface.
	Signer artifact.Signer
	// TempDir is the directory for the zip. If empty, the system's temporary directory
	// is used.
	TempDir string
	// Progress reports the progress of transfers.
	Progress provider.Progress
}

// Result is the outcome of pushing a module.
type Result struct {
	// Plan is the executed plan.
	Plan
	// Digest is the digest of the manifest. It is empty in a dry run that would have
	// pushed content.
	Digest digest.Digest
	// Zip describes the zip. Its Documents are the documents in the manifest.
	Zip provider.Package
	// Files is the number of files in the zip.
	Files int
	// Held is the reason a gate holds the package, or nil.
	Held *publish.HeldError
}

// Push pushes a package to a repository. It sends the zip, then the manifest, then the
// tags. Pushing the package again has no effect. After a failure, pushing it again
// completes it.
//
// If the tag of the version points to a package with a different zip, Push returns a
// *[repository.ConflictError]. For a denied version, it returns a
// *[repository.DeniedError]. Force overrides both errors.
func Push(ctx context.Context, repo repository.Repository, p Package, o PushOptions) (Result, error) {
	// 1. Create the zip.
	if p.address == (provider.Address{}) {
		p.address = provider.ModuleAddress(p.Name)
	}
	zip, err := packZip(ctx, p, o.TempDir)
	if err != nil {
		return Result{}, err
	}
	defer func() { _ = zip.file.Close() }()
	j := push{repo: repo, pkg: p, zip: zip, options: o}
	for moves := 0; ; moves++ {
		done := Result{Zip: zip.pkg, Files: len(p.Files)}
		// 2. Gather facts, and decide.
		f, err := j.gather(ctx)
		if err != nil {
			return done, err
		}
		done.Plan, err = decide(f, zip.pkg, j.options)
		done.Digest = done.From
		if err != nil {
			return done, err
		}
		if o.DryRun {
			if done.Status != publish.Unchanged {
				done.Digest = ""
			}
			return done, nil
		}
		// 3. Apply the plan.
		err = j.apply(ctx, f, &done)
		if j.held != nil && !j.options.Stage {
			j.options.Stage = true // push it under its pending tag instead
			continue
		}
		if !errors.Is(err, repository.ErrTagMoved) || moves == maxMoves {
			done.Held = j.held
			return done, cmp.Or(err, j.held.Failure())
		}
	}
}

// push is one call to [Push].
type push struct {
	repo    repository.Repository
	pkg     Package
	zip     packedZip
	options PushOptions
	// held is set if a gate holds the package. In this case, the gates don't run again.
	held *publish.HeldError
}

// packedZip is the zip of a package in a temporary file.
type packedZip struct {
	file *atomicfile.ScratchFile
	pkg  provider.Package
}

// packZip packs the files and checks that the result can be unpacked.
func packZip(ctx context.Context, p Package, dir string) (z packedZip, err error) {
	z.pkg = provider.Package{Version: p.Version, Filename: zipName(p.Name, p.Version), Documents: p.Documents}
	if z.file, err = atomicfile.NewScratchFile(dir, -1); err != nil {
		return z, err
	}
	defer func() {
		if err != nil {
			_ = z.file.Close()
		}
	}()
	hash := sha256.New()
	if err := Pack(ctx, p.Files, io.MultiWriter(z.file, hash)); err != nil {
		return z, err
	}
	z.pkg.Digest = digest.NewDigest(digest.SHA256, hash)
	if z.pkg.Size, err = z.file.Seek(0, io.SeekCurrent); err != nil {
		return z, err
	}
	if _, err = packagezip.Open(z.file, z.pkg.Size); err != nil {
		err = fmt.Errorf("packing %s: %w", z.pkg.Filename, err)
	}
	return z, err
}

func zipName(module string, v provider.Version) string {
	return fmt.Sprintf("%s_%s.zip", module, v)
}

// apply sends the zip, then the manifest, then the tags.
func (j *push) apply(ctx context.Context, f facts, done *Result) error {
	target := f.at(done.Tag)
	packed := artifact.Blob{Descriptor: target.Descriptor, Bytes: target.Bytes}
	if done.Status != publish.Unchanged {
		if err := j.send(ctx, target.missing); err != nil {
			return err
		}
		if j.options.Signer != nil && !isSigned(target.manifest, done.Zip) {
			signed, err := sign(j.options.Signer, done.Zip)
			if err != nil {
				return err
			}
			done.Zip.Documents = append(slices.Clip(done.Zip.Documents), signed...)
		}
		var err error
		if packed, err = j.store(ctx, f, target, done); err != nil {
			return err
		}
	}
	if done.Latest {
		if err := j.writeLatest(ctx, packed, f.latest); err != nil {
			return fmt.Errorf("writing the tag %s: %w", LatestTag, err)
		}
	}
	if f.denial == nil || done.Status != publish.Unchanged || j.options.Stage {
		return nil // Commit deletes the denial if it writes the tag
	}
	return f.denial.Remove(ctx, j.repo)
}

// store sends the manifest, and writes the tag. If the registry refuses the media types,
// it sends the generic manifest.
func (j *push) store(ctx context.Context, f facts, target stored, done *Result) (manifest artifact.Blob, err error) {
	m := j.module(target, done)
	err = repository.PushAccepted(target.manifest.Generic, func(generic bool) error {
		m.Generic = generic
		packed, err := artifact.PackModule(m)
		if err != nil {
			return err
		}
		manifest, done.Digest = packed.Index, packed.Index.Descriptor.Digest
		now, _, err := repository.Push(ctx, j.repo, packed, target.Inspection, repository.PushOptions{
			Progress: j.options.Progress, Commit: func(ctx context.Context, write func(context.Context) (repository.Inspection, error)) error {
				return j.commit(ctx, f, done, manifest, write)
			},
			Resend: func(ctx context.Context, zip digest.Digest) error {
				if zip != j.zip.pkg.Digest {
					return repository.ErrNotFound
				}
				return j.send(ctx, []digest.Digest{zip})
			},
		})
		if err == nil && now.Digest != done.Digest {
			err = repository.ErrTagMoved
		}
		return err
	})
	return manifest, err
}

// commit writes the tag of a package whose content is already in the repository.
func (j *push) commit(ctx context.Context, f facts, done *Result, manifest artifact.Blob, write func(context.Context) (repository.Inspection, error)) error {
	name := j.repo.String()
	if j.repo.Traits().Registry != "" {
		name = scheme + name
	}
	c := publish.Candidate{
		Action: publish.ActionModule, Index: manifest, Existing: f.released.Inspection, Stage: j.options.Stage, Held: j.held,
		Release: provider.Release{Address: provider.ModuleAddress(name), Version: j.pkg.Version, Packages: []provider.Package{done.Zip}},
		Denial:  f.denial, AllowPending: j.options.Force, Force: j.options.Force, Replaces: done.Status == publish.Replaced,
		Gates: j.options.Gates, Signer: j.options.Signer,
	}
	committed, err := publish.Commit(ctx, j.repo, c, write)
	if j.held = cmp.Or(j.held, committed.Held); err == nil && j.held != nil && !j.options.Stage {
		err = j.held
	}
	return err
}

// writeLatest writes the latest tag. If another run moves the tag, the last run wins.
func (j *push) writeLatest(ctx context.Context, manifest artifact.Blob, was repository.Inspection) (err error) {
	for range maxMoves {
		if err = j.repo.PushTag(ctx, manifest, LatestTag, was.Digest); !errors.Is(err, repository.ErrTagMoved) {
			return err
		}
		if was, err = repository.Inspect(ctx, j.repo, LatestTag, repository.DepthIndex); err != nil {
			return err
		}
	}
	return repository.ErrTagMoved
}

// module returns the module package that the tag will point to. If the tagged package
// has the same zip, its annotations and other documents are kept.
func (j *push) module(target stored, done *Result) artifact.Module {
	m := artifact.Module{Annotations: map[string]string{ocispec.AnnotationTitle: j.pkg.Name}}
	maps.Copy(m.Annotations, j.pkg.Annotations)
	if target.manifest.Zip.Digest == done.Zip.Digest {
		maps.Copy(m.Annotations, target.manifest.Annotations)
		for _, layer := range target.manifest.Documents {
			kept := repository.DocumentAt(j.repo, layer, "")
			replaced := func(d provider.Document) bool { return d.Name == kept.Name && d.MediaType == kept.MediaType }
			if !slices.Contains(target.missing, layer.Digest) && !slices.ContainsFunc(done.Zip.Documents, replaced) {
				done.Zip.Documents = append(slices.Clip(done.Zip.Documents), kept)
			}
		}
	}
	m.Zip = done.Zip
	return m
}

// sumsName returns the name of a zip's checksum file.
func sumsName(zip provider.Package) string {
	return strings.TrimSuffix(zip.Filename, ".zip") + "_SHA256SUMS"
}

// isSigned reports whether a manifest contains the zip and a signature of the zip's
// checksum file.
func isSigned(stored artifact.Manifest, zip provider.Package) bool {
	return stored.Zip.Digest == zip.Digest && slices.ContainsFunc(stored.Documents, func(layer ocispec.Descriptor) bool {
		return layer.Annotations[ocispec.AnnotationTitle] == sumsName(zip)+".sig"
	})
}

// sign returns a checksum file, its signature, and the key, with the same names and
// types as for providers.
func sign(s artifact.Signer, zip provider.Package) ([]provider.Document, error) {
	sums := []byte(zip.Digest.Encoded() + "  " + zip.Filename + "\n")
	signature, err := s.Sign(sums)
	if err != nil {
		return nil, err
	}
	name := sumsName(zip)
	return []provider.Document{
		artifact.NewDocument(name, artifact.MediaTypeSums, sums),
		artifact.NewDocument(name+".sig", artifact.MediaTypeSignature, signature),
		artifact.NewDocument(name+".keys.asc", artifact.MediaTypeKeys, s.Keys()),
	}, nil
}

// send sends the zip if the repository doesn't have it. missing contains the digests of
// blobs that are missing or damaged.
func (j *push) send(ctx context.Context, missing []digest.Digest) error {
	pkg := j.zip.pkg
	pkg.Address = j.pkg.address
	retrier := transfer.Retrier{Backoff: j.repo.Traits().Backoff, Progress: j.options.Progress}
	push := func() (int64, error) {
		return pkg.Size, retrier.Do(ctx, "sending "+pkg.Filename, func() error {
			content := transfer.Start(j.options.Progress, pkg, pkg.Size, j.zip.file.Reader())
			return content.End(transfer.MarkExpired(j.repo.PushBlob(ctx, artifact.ZipDescriptor(pkg), content)))
		})
	}
	if slices.Contains(missing, pkg.Digest) {
		return repository.ReplaceBlob(ctx, j.repo, pkg.Digest, push)
	}
	size, err := j.repo.Stat(ctx, artifact.ZipDescriptor(pkg))
	if err == nil && size == pkg.Size {
		return nil
	}
	if err != nil && !isMissing(err) {
		return err
	}
	_, err = push()
	return err
}

// isMissing reports whether err means that the content or the repository doesn't exist.
func isMissing(err error) bool {
	return errors.Is(err, repository.ErrNotFound) || errors.Is(err, repository.ErrNoRepository)
}
