package module

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/packagezip"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source"
)

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
	// address identifies the module in progress reports. If it is the zero value, the
	// repository identifies the module.
	address provider.Address
}

// PushOptions configures [Push]. The zero value pushes the package under the tag of its
// version.
type PushOptions struct {
	// Latest also writes the tag [artifact.LatestTag]. It has no effect with Stage, or if
	// a gate holds the package.
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
	// Progress reports the progress of transfers.
	Progress provider.Progress
}

// Result is the outcome of pushing a module.
type Result struct {
	publish.Result
	// Latest reports whether the tag [artifact.LatestTag] was written.
	Latest bool
	// Zip describes the zip. Its Documents are the documents in the manifest. If the
	// package was already stored and needs no change, Documents is empty.
	Zip provider.Package
	// Files is the number of files in the zip.
	Files int
}

// Push packs a module and publishes it as a release with one package. See
// [publish.Release] for errors and for pushing the package again.
func Push(ctx context.Context, repo repository.Repository, p Package, o PushOptions) (Result, error) {
	by := &publish.Publisher{Progress: o.Progress}
	r, err := p.publish(ctx, by, repo, publish.Options{
		Operation: "pushing", Stage: o.Stage, Force: o.Force, Gates: o.Gates, DryRun: o.DryRun, Signing: publish.Signing{Signer: o.Signer},
	})
	if isReleased := !o.Stage && r.Held == nil; err != nil || !o.Latest || !isReleased {
		return r, err
	}
	latest, err := repository.Inspect(ctx, repo, artifact.LatestTag, repository.DepthIndex)
	if err != nil {
		return r, err
	}
	r.Latest = r.Status != publish.Unchanged || latest.Digest != r.Digest
	if r.Latest && !o.DryRun {
		err = publish.WriteLatest(ctx, repo, r.Digest, latest)
	}
	return r, err
}

func (p Package) publish(ctx context.Context, by *publish.Publisher, repo repository.Repository, o publish.Options) (Result, error) {
	src, err := packZip(ctx, p, by.TempDir)
	if err != nil {
		return Result{}, err
	}
	defer func() { _ = src.file.Close() }()
	stored := addressIn(repo)
	src.zip.Address, src.signs = cmp.Or(p.address, stored), o.Signing.Signer != nil
	o.NoH1 = true // lock files have no hashes of modules
	o.Index.Annotations = map[string]string{ocispec.AnnotationTitle: p.Name}
	maps.Copy(o.Index.Annotations, p.Annotations)
	r := Result{Zip: src.zip, Files: len(p.Files)}
	r.Result, err = by.Release(ctx, src, repo, stored, p.Version, o)
	if len(r.Packages) > 0 {
		r.Zip.Documents = slices.Concat(r.Packages[0].Package.Documents, r.Documents)
	}
	return r, err
}

// addressIn returns the address of the module in a repository.
func addressIn(repo repository.Repository) provider.Address {
	name := repo.String()
	if repo.Capabilities().Registry != "" {
		name = scheme + name
	}
	return provider.ModuleAddress(name)
}

// zipSource is the source of a module that was packed into a temporary file.
type zipSource struct {
	file *atomicfile.ScratchFile
	zip  provider.Package
	// signs reports whether the release has a checksum file that will be signed.
	signs bool
}

// packZip packs the files and checks that the result can be unpacked.
func packZip(ctx context.Context, p Package, dir string) (s zipSource, err error) {
	s.zip = provider.Package{Version: p.Version, Filename: zipName(p.Name, p.Version), Documents: p.Documents}
	if s.file, err = atomicfile.NewScratchFile(dir, -1); err != nil {
		return s, err
	}
	defer func() {
		if err != nil {
			_ = s.file.Close()
		}
	}()
	hash := sha256.New()
	if err := Pack(ctx, p.Files, io.MultiWriter(s.file, hash)); err != nil {
		return s, err
	}
	s.zip.Digest = digest.NewDigest(digest.SHA256, hash)
	if s.zip.Size, err = s.file.Seek(0, io.SeekCurrent); err != nil {
		return s, err
	}
	if _, err = packagezip.Open(s.file, s.zip.Size); err != nil {
		err = fmt.Errorf("packing %s: %w", s.zip.Filename, err)
	}
	return s, err
}

func zipName(module string, v provider.Version) string {
	return fmt.Sprintf("%s_%s.zip", module, v)
}

func (s zipSource) Versions(context.Context, provider.Address) ([]provider.Version, error) {
	return []provider.Version{s.zip.Version}, nil
}

func (s zipSource) Release(_ context.Context, a provider.Address, v provider.Version, _ ...provider.Platform) (provider.Release, error) {
	r := provider.Release{Address: a, Version: v, Packages: []provider.Package{s.zip}}
	if s.signs {
		r.Documents = []provider.Document{source.GeneratedSums(r)}
	}
	return r, nil
}

func (s zipSource) Open(context.Context, provider.Package) (io.ReadCloser, int64, error) {
	return io.NopCloser(s.file.Reader()), s.zip.Size, nil
}
