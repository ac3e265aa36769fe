package doctor

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/finding"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// anyProvider and anotherProvider have nothing in common. What a template makes of both is the same for
// every provider.
var (
	anyProvider     = provider.Address{Host: provider.DefaultHost, Namespace: "hashicorp", Type: "random"}
	anotherProvider = provider.Address{Host: "registry.example.com", Namespace: "acme", Type: "sample"}
)

// place looks at a template without a provider: at what is the same for all of them.
func (e *examination) examineTemplate(ctx context.Context) error {
	e.report.Template, e.method.Template = e.Template.Redacted(), *e.Template
	// 1. The template.
	ref, err := commonReference(*e.Template)
	if err != nil {
		e.addFinding(finding.Error, "repository-name", err.Error()+".", finding.Remedy{Hint: "correct the template"})
		return nil //nolint:nilerr // it is a finding
	}
	e.ref = ref
	hostname, namespace, typ := e.Template.Uses()
	fixed := !hostname && !namespace && !typ
	if fixed {
		e.report.Repository = ref.String()
	}
	// 2. What there is of it, and the right to write.
	switch {
	case e.Template.IsLayout():
		err = e.directory(ctx, fixed)
	case fixed:
		err = e.repository(ctx)
	case ref.Registry != "":
		e.registry(ctx)
	}
	// 3. What only a provider leads to.
	e.noteUnchecked(fixed)
	return errors.Join(err, ctx.Err())
}

// common returns what a template makes of all providers: the whole reference where it has
// no variables, else the registry and the path, or the directory, that all are below.
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

// above returns the path that two paths have in common.
func commonPath(a, b string) string {
	as, bs := strings.Split(a, "/"), strings.Split(b, "/")
	n := 0
	for n < min(len(as), len(bs)) && as[n] == bs[n] {
		n++
	}
	return strings.Join(as[:n], "/")
}

// repository reads the tags of the one repository that a template without variables
// names.
func (e *examination) repository(ctx context.Context) error {
	repo, err := e.Repository(e.ref)
	if err != nil {
		e.addFinding(finding.Error, "repository-name", err.Error()+".", finding.Remedy{Hint: "correct the template"})
		return nil //nolint:nilerr // it is a finding
	}
	e.connection()
	e.login(ctx)
	tags, err := repo.Tags(ctx)
	if err == nil {
		e.report.Response = fmt.Sprintf("%d tags", len(tags))
		e.add(CheckTags(tags, e.Wanted, *e.Template)...)
	} else if ctx.Err() == nil {
		e.reportError(err)
	}
	if e.Push && ctx.Err() == nil {
		e.push(ctx, repo)
	}
	return nil
}

// registry asks the registry that all repositories are at.
func (e *examination) registry(ctx context.Context) {
	e.report.Registry = e.ref.Registry
	e.connection()
	e.login(ctx)
	if e.report.Login.Err != nil {
		return // it is a finding, and there is nothing to ask with
	}
	asked, err := e.Registry(ctx, e.ref)
	if ctx.Err() == nil {
		e.reportLogin(asked, err)
	}
}

// answered tells what a registry made of the login.
func (e *examination) reportLogin(asked bool, err error) {
	host, found := e.ref.Registry, e.report.Login.Found
	switch {
	case err == nil && asked:
		e.report.Response = "the registry takes the login"
		return
	case err == nil:
		e.report.Response = "the registry answers, and asks for no login before it is needed"
		return
	}
	e.report.Response = err.Error()
	switch {
	case errors.Is(err, provider.ErrDenied) && found:
		e.addFinding(finding.Error, "access-denied", fmt.Sprintf("The registry %s refuses the login from %s.", host, e.report.Login.Source), finding.Remedy{Command: "tofu-oci login " + host})
	case errors.Is(err, provider.ErrDenied) && e.IsTarget:
		e.addFinding(finding.Error, "login-missing", fmt.Sprintf("The registry %s wants a login, and there is none.", host), finding.Remedy{Command: "tofu-oci login " + host})
	case errors.Is(err, provider.ErrDenied):
		e.addFinding(finding.Warning, "login-missing", fmt.Sprintf("The registry %s wants a login, and there is none: only what is public there may be read.", host), finding.Remedy{Command: "tofu-oci login " + host})
	default:
		e.addFinding(finding.Error, "registry-failed", fmt.Sprintf("%s does not answer as a registry does: %v.", host, err), finding.Remedy{Command: "curl -I https://" + host + "/v2/"})
	}
}

// unchecked says what nobody can know without a provider.
func (e *examination) noteUnchecked(fixed bool) {
	what := "the repository, which the template makes of it, and what is in it"
	switch {
	case e.Template.IsLayout():
		what = "whether the packages that OpenTofu asks for are there, and their zips whole"
	case fixed:
		what = "whether OpenTofu finds a version there, and its package"
	case e.ref.Registry == "":
		what = "the registry and the repository, which the template makes of it, and what is in it"
	}
	if e.Push && e.report.Push == "" {
		what += ", and the right to push there"
	}
	again := "tofu-oci doctor PROVIDER --from "
	if e.IsTarget {
		again = "tofu-oci doctor PROVIDER --to "
	}
	again += text.Quote(e.Template.Redacted())
	if e.Push {
		again += " --push"
	}
	e.addFinding(finding.Note, "not-checked", fmt.Sprintf("Not checked, since no PROVIDER is named: %s.", what), finding.Remedy{Command: again})
}

// reopen returns the repository of another reference, which the findings from now on are
// about.
func (e *examination) reopen(a provider.Address, ref template.Reference) (repository.Reader, error) {
	e.Wanted.Address, e.ref = a, ref
	return e.Repository(ref)
}

// push asks whether something may be pushed to the repository.
func (e *examination) push(ctx context.Context, repo repository.Reader) {
	ask := repo.Traits().Writable
	if ask == nil {
		return
	}
	err := ask(ctx)
	if err == nil {
		e.report.Push = "allowed"
		return
	}
	if ctx.Err() != nil {
		return
	}
	e.report.Push = err.Error()
	switch {
	case e.ref.Registry == "":
		e.addFinding(finding.Error, "push-failed", fmt.Sprintf("Nothing can be written to %s: %v.", e.ref, err), finding.Remedy{Hint: "choose another directory, or give this user the right to write there"})
	case errors.Is(err, provider.ErrDenied):
		e.addFinding(finding.Error, "push-denied", fmt.Sprintf("The registry lets this login not push to %s: the login lacks the right to write, or there is none.", e.ref),
			finding.Remedy{Hint: "give the login the right to push, or log in with another one", Command: "tofu-oci login " + e.ref.Registry})
	case errors.Is(err, repository.ErrNoRepository):
		e.addFinding(finding.Error, "push-failed", fmt.Sprintf("The registry makes no repository %s by itself.", e.ref), finding.Remedy{Hint: "make the repository or its project first, or let tofu-oci mirror do it with --on-missing-repository"})
	default:
		e.addFinding(finding.Error, "push-failed", fmt.Sprintf("Nothing can be pushed to %s: %v.", e.ref, err), finding.Remedy{Command: "curl -I https://" + e.ref.Registry + "/v2/"})
	}
}
