package module

import (
	"context"
	"errors"
	"fmt"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/git"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/mirror"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// MirrorOptions configures [Mirror].
type MirrorOptions struct {
	// Options has the same effect as in [mirror.Run]. Addresses have the form of
	// [Address.InRegistry]. Target is required.
	mirror.Options
	// Open opens the OCI repository that a module registry refers to.
	Open func(template.Reference) (repository.Reader, error)
	// AllowIncomplete omits submodules of git repositories, and accepts LFS pointers
	// instead of the content of the files. If false, commits with submodules or LFS
	// pointers are rejected.
	AllowIncomplete bool
	// Dependencies, if not nil, contains packages that have already been fetched.
	Dependencies *Dependencies
}

// publisher returns the configured Publisher or, if it is nil, a new one.
func (o MirrorOptions) publisher() *publish.Publisher {
	if o.Publisher == nil {
		return new(publish.Publisher)
	}
	return o.Publisher
}

// InRegistry returns the address in the form that package origin uses: a provider
// address with the type NAME/SYSTEM.
func (a Address) InRegistry() provider.Address {
	return provider.Address{Host: a.Hostname, Namespace: a.Namespace, Type: a.Name + "/" + a.System}
}

// FromRegistry reverses [Address.InRegistry].
func FromRegistry(a provider.Address) Address {
	name, system, _ := strings.Cut(a.Type, "/")
	return Address{Hostname: a.Host, Namespace: a.Namespace, Name: name, System: system}
}

// Mirror mirrors modules from their registries. It packs all files of each version, and
// pushes the package as [Push] does. If the origin has moved a version to a different
// commit or zip, the version's result contains a *[repository.ConflictError].
//
// Mirror runs the git program for modules in git repositories.
func Mirror(ctx context.Context, from *origin.Modules, wanted []Requirement, o MirrorOptions) error {
	var requirements []provider.Requirement
	for _, r := range wanted {
		requirements = append(requirements, provider.Requirement{Address: r.Address.InRegistry(), Constraint: r.Constraint})
	}
	return mirror.RunWith(ctx, from, requirements, o.Options, o.PublishFunc(from))
}

// PublishFunc returns the function that [Mirror] uses to publish a version. If Check in
// the function's options is [repository.DepthIndex], and the repository has a package
// from the same location, the function doesn't download the archive again.
func (o MirrorOptions) PublishFunc(from *origin.Modules) mirror.PublishFunc {
	return func(ctx context.Context, repo repository.Repository, a provider.Address, v provider.Version, p publish.Options) (publish.Result, error) {
		r, err := o.mirrorOne(ctx, from, repo, a, v, p)
		r.Address, r.Version = a, v
		if named, ok := errors.AsType[*provider.Error](err); ok {
			named.Address = a // not the repository's address
		} else if err != nil {
			err = &provider.Error{Op: "mirroring", Address: a, Version: v, Err: err}
		}
		return r, err
	}
}

func (o MirrorOptions) mirrorOne(ctx context.Context, from *origin.Modules, repo repository.Repository, a provider.Address, v provider.Version, p publish.Options) (publish.Result, error) {
	// 1. Find the package.
	l, err := locate(ctx, from, a, v)
	if err != nil {
		return publish.Result{}, err
	}
	name := FromRegistry(a).Name
	l.pkg = provider.Package{Address: a, Version: v, Filename: zipName(name, v)}
	pkg := Package{Name: name, Version: v, address: a, Annotations: map[string]string{
		artifact.AnnotationModule: a.String(), artifact.AnnotationModuleOrigin: l.origin(),
	}}
	// 2. Skip a package that the repository already has.
	f, isFetched := o.Dependencies.find(l, o)
	if l.isGit {
		commit := f.commit
		if !isFetched {
			if commit, err = git.Resolve(ctx, l.url, l.ref); err != nil {
				return publish.Result{}, err
			}
		}
		pkg.Annotations[ocispec.AnnotationRevision] = commit
	}
	if l.isGit || p.Check == repository.DepthIndex {
		if stored, err := storedPackage(ctx, repo, pkg, p); err != nil || stored.Status != "" {
			return stored, err
		}
	}
	// 3. Fetch and push the package.
	if !isFetched {
		if f, err = l.fetch(ctx, from, o); err != nil {
			return publish.Result{}, &provider.Error{Op: "fetching", Address: a, Version: v, Err: err}
		}
	}
	defer f.close()
	dir, err := l.directory(f)
	if err != nil {
		return publish.Result{}, err
	}
	if dir != "" {
		pkg.Annotations[artifact.AnnotationModuleSubdirectory] = dir
	}
	if pkg.Files = f.files; f.commit != "" {
		pkg.Annotations[ocispec.AnnotationRevision] = f.commit
	}
	pushed, err := pkg.publish(ctx, o.publisher(), repo, publish.Options{
		Operation: "mirroring", Stage: p.Stage, Force: p.Force, SkipDenied: p.SkipDenied, Gates: p.Gates, DryRun: p.DryRun, RecordSigner: p.RecordSigner,
	})
	return pushed.Result, err
}

// storedPackage checks whether the repository already has a package with the same
// origin and commit, without fetching files. If so, the status of the result is
// Unchanged. If the repository has a different commit for the version, the error is a
// *[repository.ConflictError]. If the version is denied, the error is a
// *[repository.DeniedError], or the status is Denied. Otherwise, or if Force overrides
// the denial, the status is empty.
func storedPackage(ctx context.Context, repo repository.Repository, p Package, o publish.Options) (r publish.Result, err error) {
	err = repository.CheckDenied(ctx, repo, p.Version)
	denied, isDenied := errors.AsType[*repository.DeniedError](err)
	switch {
	case isDenied && (o.SkipDenied || !o.Force):
		r.Status, r.Denial, r.Tag, r.Digest = publish.Denied, &denied.Record, denied.Record.Tag, denied.Record.Digest
		if o.SkipDenied {
			err = nil
		}
		return r, err
	case isDenied, errors.Is(err, repository.ErrNoRepository): // a push also removes the denial
		return r, nil
	case err != nil && !errors.Is(err, repository.ErrNotFound):
		return r, err
	}
	tags := []string{artifact.Tag(p.Version)}
	if o.Stage {
		tags = append(tags, artifact.PendingTag(p.Version))
	}
	for _, tag := range tags {
		s, err := repository.Inspect(ctx, repo, tag, repository.DepthBlobs)
		if err != nil {
			return r, err
		}
		stored := s.At(provider.Platform{})
		has := func(key string) bool { return stored.Manifest.Annotations[key] == p.Annotations[key] }
		commit, wanted := stored.Manifest.Annotations[ocispec.AnnotationRevision], p.Annotations[ocispec.AnnotationRevision]
		if !s.Exists() || (commit == "") != (wanted == "") || !has(artifact.AnnotationModule) {
			continue
		}
		r.Tag, r.From, r.Released = s.Tag, s.Digest, o.Stage && s.Tag == artifact.Tag(p.Version)
		switch {
		case commit == wanted && stored.IsIntact() && has(artifact.AnnotationModuleOrigin):
			r.Status, r.Digest = publish.Unchanged, s.Digest
			return r, nil
		case commit != wanted && !o.Force:
			reason := fmt.Sprintf("tag %s contains the commit %s, but the origin has moved the version to %s", s.Tag, commit, wanted)
			return r, &repository.ConflictError{Release: p.Name + " " + p.Version.String(), Reasons: []string{reason}}
		}
	}
	return publish.Result{}, nil
}
