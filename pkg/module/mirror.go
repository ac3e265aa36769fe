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
	// Closure, if not nil, contains packages that have already been fetched.
	Closure *Closure
}

// progress returns the callbacks for the progress of transfers.
func (o MirrorOptions) progress() provider.Progress {
	if o.Publisher == nil {
		return provider.Progress{}
	}
	return o.Publisher.Progress
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
		pushed, err := o.mirrorOne(ctx, from, repo, a, v, p)
		if _, named := errors.AsType[*provider.Error](err); err != nil && !named {
			err = &provider.Error{Op: "mirroring", Address: a, Version: v, Err: err}
		}
		r := publish.Result{Digest: pushed.Digest}
		r.Address, r.Version, r.Status, r.Tag, r.From = a, v, pushed.Status, pushed.Tag, pushed.From
		r.Held = pushed.Held
		r.Released = p.Stage && r.Tag == artifact.Tag(v)
		if denied, ok := errors.AsType[*repository.DeniedError](err); ok {
			r.Status, r.Denial, r.Tag, r.Digest = publish.Denied, &denied.Record, denied.Record.Tag, denied.Record.Digest
			if p.SkipDenied {
				err = nil
			}
		}
		return r, err
	}
}

// mirrorOne mirrors a version of a module.
func (o MirrorOptions) mirrorOne(ctx context.Context, from *origin.Modules, repo repository.Repository, a provider.Address, v provider.Version, p publish.Options) (Result, error) {
	// 1. Find the package.
	l, err := locate(ctx, from, a, v)
	if err != nil {
		return Result{}, err
	}
	name := FromRegistry(a).Name
	l.pkg = provider.Package{Address: a, Version: v, Filename: zipName(name, v)}
	pkg := Package{Name: name, Version: v, address: a, Annotations: map[string]string{
		artifact.AnnotationModule: a.String(), artifact.AnnotationModuleOrigin: l.origin(),
	}}
	options := PushOptions{Stage: p.Stage, Force: p.Force, Gates: p.Gates, DryRun: p.DryRun, Progress: o.progress()}
	// 2. Skip a package that the repository already has.
	f, isFetched := o.Closure.find(l)
	if l.isGit {
		commit := f.commit
		if !isFetched {
			if commit, err = git.Resolve(ctx, l.url, l.ref); err != nil {
				return Result{}, err
			}
		}
		pkg.Annotations[ocispec.AnnotationRevision] = commit
	}
	if l.isGit || p.Check == repository.DepthIndex {
		if stored, err := storedPackage(ctx, repo, pkg, options); err != nil || stored.Status == publish.Unchanged {
			return stored, err
		}
	}
	// 3. Fetch and push the package.
	if !isFetched {
		if f, err = l.fetch(ctx, from, o); err != nil {
			return Result{}, &provider.Error{Op: "fetching", Address: a, Version: v, Err: err}
		}
	}
	defer f.close()
	dir, err := l.directory(f)
	if err != nil {
		return Result{}, err
	}
	if dir != "" {
		pkg.Annotations[artifact.AnnotationModuleSubdirectory] = dir
	}
	if pkg.Files = f.files; f.commit != "" {
		pkg.Annotations[ocispec.AnnotationRevision] = f.commit
	}
	return Push(ctx, repo, pkg, options)
}

// storedPackage checks whether the repository already has a package with the same origin
// and commit, without fetching files. If it does, the status of the result is Unchanged.
// If the repository has a different commit for the version, the error is a
// *[repository.ConflictError]. Otherwise, the result is empty.
func storedPackage(ctx context.Context, repo repository.Repository, p Package, o PushOptions) (Result, error) {
	j := push{repo: repo, pkg: p, options: o}
	f, err := j.gather(ctx)
	if err != nil {
		return Result{}, err
	}
	if f.isDenied(o) {
		plan, err := decide(f, provider.Package{}, o)
		return Result{Plan: plan}, err
	}
	for _, s := range []stored{f.released, f.pending} {
		commit := s.manifest.Annotations[ocispec.AnnotationRevision]
		if !s.Exists() || (commit == "") != (p.Annotations[ocispec.AnnotationRevision] == "") || s.manifest.Annotations[artifact.AnnotationModule] != p.Annotations[artifact.AnnotationModule] {
			continue
		}
		switch isSame := commit == p.Annotations[ocispec.AnnotationRevision]; {
		case isSame && len(s.missing) == 0 && s.manifest.Annotations[artifact.AnnotationModuleOrigin] == p.Annotations[artifact.AnnotationModuleOrigin]:
			return Result{Plan: Plan{Status: publish.Unchanged, Tag: s.Tag, From: s.Digest}, Digest: s.Digest}, nil
		case !isSame && !o.Force:
			reason := fmt.Sprintf("tag %s contains the commit %s, but the origin has moved the version to %s", s.Tag, commit, p.Annotations[ocispec.AnnotationRevision])
			return Result{Plan: Plan{Tag: s.Tag, From: s.Digest}}, &repository.ConflictError{Release: p.Name + " " + p.Version.String(), Reasons: []string{reason}}
		}
	}
	return Result{}, nil
}
