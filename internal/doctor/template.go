package doctor

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/finding"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// anyProvider and anotherProvider have no part in common. Parts of a reference that are
// the same for both addresses are the same for every provider.
var (
	anyProvider     = provider.Address{Host: provider.DefaultHost, Namespace: "hashicorp", Type: "random"}
	anotherProvider = provider.Address{Host: "registry.example.com", Namespace: "acme", Type: "sample"}
)

// examineTemplate examines a template if no provider is specified. It checks everything
// that is the same for all providers.
func (e *examination) examineTemplate(ctx context.Context) error {
	e.report.Template, e.method.Template = e.Template.Redacted(), *e.Template
	// 1. Find the common part of the template.
	ref, err := commonReference(*e.Template)
	if err != nil {
		e.addFinding(finding.Error, "repository-name", err.Error()+".", finding.Remedy{Hint: "correct the template"})
		return nil //nolint:nilerr // the error is a finding
	}
	e.ref = ref
	hostname, namespace, typ := e.Template.Uses()
	fixed := !hostname && !namespace && !typ
	if fixed {
		e.report.Repository = ref.String()
	}
	// 2. Check existing content and push access.
	switch {
	case e.Template.IsLayout():
		err = e.directory(ctx, fixed)
	case fixed:
		err = e.repository(ctx)
	case ref.Registry != "":
		e.registry(ctx)
	}
	// 3. Report the checks that require a provider.
	e.noteUnchecked(fixed)
	return errors.Join(err, ctx.Err())
}

// commonReference returns the part of a template that is the same for all providers. If
// the template has no variables, this is the complete reference. Otherwise, it is the
// registry and the common path, or the common directory.
func commonReference(t template.Template) (template.Reference, error) {
	a, err := t.Repository(anyProvider)
	if err != nil {
		return a, err
	}
	b, err := t.Repository(anotherProvider)
	switch {
	case err != nil || a == b:
		return a, err
	case t.IsLayout():
		dir := commonPath(filepath.ToSlash(a.Layout), filepath.ToSlash(b.Layout))
		if dir == "" && strings.HasPrefix(a.Layout, "/") {
			dir = "/"
		} else if dir == "" {
			dir = "."
		}
		return template.Reference{Layout: dir}, nil
	case a.Registry != b.Registry:
		return template.Reference{}, nil
	}
	return template.Reference{Registry: a.Registry, Name: commonPath(a.Name, b.Name)}, nil
}

// commonPath returns the common path prefix of two paths.
func commonPath(a, b string) string {
	as, bs := strings.Split(a, "/"), strings.Split(b, "/")
	n := 0
	for n < min(len(as), len(bs)) && as[n] == bs[n] {
		n++
	}
	return strings.Join(as[:n], "/")
}

// repository checks the repository of a template that has no variables.
func (e *examination) repository(ctx context.Context) error {
	repo, err := e.Repository(e.ref)
	if err != nil {
		e.addFinding(finding.Error, "repository-name", err.Error()+".", finding.Remedy{Hint: "correct the template"})
		return nil //nolint:nilerr // the error is a finding
	}
	e.connection()
	e.login(ctx)
	tags, err := repo.Tags(ctx)
	if err == nil {
		e.report.Response = fmt.Sprintf("tags: %d", len(tags))
		e.add(CheckTags(tags, e.Wanted, *e.Template)...)
	} else if ctx.Err() == nil {
		e.reportError(err)
	}
	if e.Push && ctx.Err() == nil {
		return e.push(ctx, repo)
	}
	return nil
}

// registry checks the registry that contains all repositories.
func (e *examination) registry(ctx context.Context) {
	e.report.Registry = e.ref.Registry
	e.connection()
	e.login(ctx)
	if e.report.Login.Err != nil {
		return // login has reported the error, and no credentials are known
	}
	challenged, err := e.Registry(ctx, e.ref)
	if ctx.Err() == nil {
		e.reportLogin(challenged, err)
	}
}

// reportLogin adds a finding about the registry's response to the credentials.
func (e *examination) reportLogin(challenged bool, err error) {
	host, found := e.ref.Registry, e.report.Login.Found
	switch {
	case err == nil && challenged:
		e.report.Response = "the registry accepts the credentials"
		return
	case err == nil:
		e.report.Response = "the registry responds without requiring credentials"
		return
	}
	e.report.Response = err.Error()
	switch {
	case errors.Is(err, provider.ErrForbidden) && found:
		e.addFinding(finding.Error, "access-denied", fmt.Sprintf("The registry %s rejects the credentials from %s.", host, e.report.Login.Source), finding.Remedy{Command: "tofu-oci login " + host})
	case errors.Is(err, provider.ErrForbidden) && e.IsTarget:
		e.addFinding(finding.Error, "login-missing", fmt.Sprintf("The registry %s requires credentials, but none were found.", host), finding.Remedy{Command: "tofu-oci login " + host})
	case errors.Is(err, provider.ErrForbidden):
		e.addFinding(finding.Warning, "login-missing", fmt.Sprintf("The registry %s requires credentials, but none were found. Only public repositories are readable.", host), finding.Remedy{Command: "tofu-oci login " + host})
	default:
		e.addFinding(finding.Error, "registry-failed", fmt.Sprintf("%s does not respond like a registry: %v.", host, err), unreachable(err, host))
	}
}

// noteUnchecked adds a note about the checks that require a provider.
func (e *examination) noteUnchecked(fixed bool) {
	what := "the provider's repository and the content of the repository"
	switch {
	case e.Template.IsLayout():
		what = "whether the required packages exist, and whether their zips are intact"
	case fixed:
		what = "whether OpenTofu finds a version and its package"
	case e.ref.Registry == "":
		what = "the registry, the provider's repository, and the content of the repository"
	}
	if e.Push && e.report.Push == "" {
		what += ", and push access"
	}
	again := "tofu-oci doctor PROVIDER --from "
	if e.IsTarget {
		again = "tofu-oci doctor PROVIDER --to "
	}
	again += text.Quote(e.Template.Redacted())
	if e.Push {
		again += " --probe"
	}
	e.addFinding(finding.Note, "not-checked", fmt.Sprintf("Not checked because no PROVIDER was specified: %s.", what), finding.Remedy{Command: again})
}

// reopen opens a different repository. Later findings refer to this repository.
func (e *examination) reopen(a provider.Address, ref template.Reference) (repository.Reader, error) {
	e.Wanted.Address, e.ref = a, ref
	return e.Repository(ref)
}

// push checks whether the user can push to the repository and what its registry
// supports.
func (e *examination) push(ctx context.Context, repo repository.Reader) error {
	if e.ref.Registry == "" {
		e.pushLayout(ctx, repo)
		return nil
	}
	target, err := e.Target(e.ref)
	if err != nil {
		return err
	}
	p, err := RunProbe(ctx, target)
	e.report.Probe = &p
	e.add(p.Findings()...)
	if e.report.Push = "allowed"; len(p.Checks) > 0 && p.Checks[0].Result != CheckWorks {
		e.report.Push = p.Checks[0].Details
	}
	return err
}

// pushLayout checks whether an image layout is writable.
func (e *examination) pushLayout(ctx context.Context, repo repository.Reader) {
	ask := repo.Capabilities().Writable
	if ask == nil {
		return
	}
	if err := ask(ctx); err != nil {
		e.report.Push = err.Error()
		e.addFinding(finding.Error, "push-failed", fmt.Sprintf("%s is not writable: %v.", e.ref, err), finding.Remedy{Hint: "make the directory writable for this user, or choose another one"})
		return
	}
	e.report.Push = "allowed"
}
