package offline

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"strconv"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/configuration"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/module"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/pull"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
)

// terraformHost is the default host of Terraform.
const terraformHost = svchost.Hostname("registry.terraform.io")

// fetch selects and unpacks the module that a call refers to, in the same way as the
// program. It returns an error if the bundle doesn't contain the module.
func (r *Run) fetch(ctx context.Context, c configuration.Call, terraform bool) (none configuration.Package, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return none, context.Cause(ctx)
	case r.isClosed:
		return none, os.ErrClosed
	}
	host := provider.DefaultHost
	if terraform {
		host = terraformHost
	}
	// 1. Select a version.
	called, subdir, err := module.ParseCall(c.Source, c.Version, host)
	if err != nil {
		return none, provider.Errorf(provider.Misuse, "%w; exec --bundle supports only local modules and modules from module registries", err)
	}
	wanted := provider.Requirement{Address: provider.ModuleAddress(called.Address.String()), Constraint: called.Constraint}
	repo, err := r.bundle.Reader(wanted.Address, nil)
	if err != nil {
		return none, err
	}
	repo = repository.ModuleReader(repo)
	src := oci.New(func(provider.Address) (repository.Reader, error) { return repo, nil })
	versions, err := src.Versions(ctx, wanted.Address)
	if err != nil {
		return none, err
	}
	selected, err := wanted.Select(versions, 1)
	if err != nil {
		return none, err
	}
	// 2. Unpack the module.
	wanted.Constraint = provider.ExactConstraint(selected[0])
	p, known := r.unpacked[wanted.String()]
	if !known {
		if p, err = r.unpack(ctx, repo, src, wanted, artifact.Tag(selected[0])); err != nil {
			return none, err
		}
		r.unpacked[wanted.String()] = p
	}
	p.Subdir = path.Join(p.Subdir, subdir)
	return p, nil
}

// unpack verifies and unpacks a module from the bundle.
func (r *Run) unpack(ctx context.Context, repo repository.Reader, src provider.Source, wanted provider.Requirement, tag string) (p configuration.Package, err error) {
	i, err := repository.Inspect(ctx, repo, tag, repository.DepthIndex)
	if err != nil {
		return p, err
	}
	p = configuration.Package{
		Dir: filepath.Join(r.dir, strconv.Itoa(len(r.unpacked))), Subdir: i.Index.Annotations[artifact.AnnotationModuleSubdirectory], Name: wanted.String(),
	}
	var failed error
	err = module.Pull(ctx, src, wanted, p.Dir, pull.ManyOptions{Options: pull.Options{Verify: r.verify}, OnResult: func(pulled pull.Pulled) { failed = pulled.Err }})
	if err == nil {
		err = failed
	}
	return p, err
}
