package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/installation"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/finding"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// Options say what is examined. All of the functions are needed, but where it is said.
type Options struct {
	// Wanted is the provider. The zero value looks at what At is for all providers.
	Wanted   provider.Requirement
	Platform provider.Platform
	Config   cliconfig.Config
	Files    cliconfig.Files
	// Installation resolves by Config.
	Installation *installation.Installation
	// Repository opens a repository with the login for it, Anonymous without any.
	Repository, Anonymous func(template.Reference) (repository.Reader, error)
	// Login tells about the login for a repository, "host/name".
	Login func(ctx context.Context, repository string) Login
	// Registry asks the registry of a reference, whose name need be no repository's,
	// whether it takes the login for what is below: as [repository.CheckCredentials] does. It
	// is needed where Wanted is the zero value only.
	Registry func(ctx context.Context, at template.Reference) (asked bool, err error)
	// PlainHTTP are the registries that are spoken to without TLS.
	PlainHTTP []string
	// CAFile has certificates that OpenTofu does not trust by itself; empty for
	// none.
	CAFile string
	// Lock is what a lock file says about the provider; nil is nothing.
	Lock *lockfile.Selection
	// At is where the provider's repository is looked for, whatever Config says; nil is
	// what Config says.
	Template *template.Template
	// Target tells that At is where releases go: none of them need be there yet.
	IsTarget bool
	// Push asks whether something may be pushed there.
	Push bool
	// Aliases are what the user has declared to stand for the provider.
	Aliases provider.Aliases
}

// examination is a report in the making.
type examination struct {
	Options
	report Report
	ref    template.Reference
	// method is that which names the repository.
	method cliconfig.Method
}

// Examine follows a provider from the configuration to the zip, as far as it
// gets. What goes wrong on the way is a finding; the error is ctx's.
func Examine(ctx context.Context, o Options) (Report, error) {
	e := &examination{Options: o, report: Facts(o.Files)}
	if o.Template != nil && o.Wanted.Address == (provider.Address{}) {
		err := e.examineTemplate(ctx)
		return e.report, err
	}
	e.report.Source, e.report.Platform = o.Wanted.String(), o.Platform.String()
	// 1. The configuration, and the way to the repository.
	if !e.locate() {
		return e.report, nil
	}
	// 2. The registry, and the login for it.
	repo, err := e.Repository(e.ref)
	if err != nil {
		e.addFinding(finding.Error, "repository-name", err.Error()+".", finding.Remedy{Hint: "correct " + e.templateSource()})
		return e.report, nil //nolint:nilerr // it is a finding
	}
	if e.ref.Registry != "" {
		e.connection()
		e.login(ctx)
	}
	// 3. The version and its package.
	if err := e.examineVersions(ctx, repo); err != nil && ctx.Err() == nil {
		e.reportError(err)
	}
	// 4. The right to write.
	if e.Push && ctx.Err() == nil {
		e.push(ctx, repo)
	}
	return e.report, ctx.Err()
}

// Facts is a report of the files of the configuration, and nothing else.
func Facts(files cliconfig.Files) Report {
	r := Report{Files: []File{}, Methods: []Method{}, Findings: []finding.Finding{}}
	for _, p := range files {
		r.Files = append(r.Files, File{p.Path, p.Why, p.Chosen && p.Found && p.Err == nil})
	}
	return r
}

func (e *examination) add(findings ...finding.Finding) {
	e.report.Findings = append(e.report.Findings, findings...)
}

func (e *examination) addFinding(severity finding.Severity, code, problem string, remedy finding.Remedy) {
	e.add(finding.New(severity, code, problem, remedy))
}

// locate finds the repository.
func (e *examination) locate() bool {
	if e.Template == nil {
		e.add(CheckConfig(e.Config, e.Files)...)
		return e.resolve()
	}
	ref, err := e.Template.Repository(e.Wanted.Address)
	if err != nil {
		e.addFinding(finding.Error, "repository-name", err.Error()+".", finding.Remedy{Hint: "correct the template"})
		return false
	}
	e.ref, e.report.Repository = ref, ref.String()
	e.method.Template = *e.Template
	return true
}

// naming says what names the repository.
func (e *examination) templateSource() string {
	if e.Template != nil {
		return "the template"
	}
	return e.method.Position.String()
}

// resolve tells which methods are asked, and finds the repository.
func (e *examination) resolve() bool {
	a := e.Wanted.Address
	asked := false
	for _, s := range e.Installation.Explain(a) {
		e.report.Methods = append(e.report.Methods, Method{s.Method.String(), s.Matches, methodReason(s)})
		asked = asked || s.Matches
		if s.Matches && s.Method.Kind == cliconfig.NetworkMirror && strings.Contains(string(a.Host), ":") {
			e.addFinding(finding.Error, "host-port", fmt.Sprintf("OpenTofu can't ask the network_mirror at %s for %s, whose host has a port: it takes the address for a URL.", s.Method.Position, a),
				finding.Remedy{Hint: fmt.Sprintf("add to the network_mirror block:\nexclude = [%q]", a.String())})
		}
	}
	ref, method, err := e.Installation.Target(a)
	var missing *installation.NoMirrorError
	switch {
	case errors.As(err, &missing) && !asked:
		e.addFinding(finding.Error, "no-method", fmt.Sprintf("No installation method is for %s, so OpenTofu does not find it.", a), finding.Remedy{Hint: fmt.Sprintf("add to the block of a method:\ninclude = [%q]", a.String())})
	case errors.As(err, &missing):
		e.addFinding(finding.Warning, "no-mirror", fmt.Sprintf("No oci_mirror is for %s, so OpenTofu does not install it from an OCI registry.", a), finding.Remedy{Hint: "add to the provider_installation block:\n" + missing.Block})
	case err != nil:
		e.addFinding(finding.Error, "repository-name", err.Error()+".", finding.Remedy{Hint: "correct the repository_template at " + method.Position.String()})
	default:
		e.ref, e.method, e.report.Repository = ref, method, ref.String()
		return true
	}
	return false
}

// why says why a method is asked, or is not.
func methodReason(s installation.Step) string {
	none := s.Pattern == provider.Pattern{}
	switch {
	case s.Method.Kind == cliconfig.DevOverrides:
		return "dev_overrides names the provider"
	case s.Matches && s.Unless:
		return "unless a plugin directory has the provider"
	case s.Matches && none:
		return "it is for all that exclude leaves"
	case s.Matches:
		return "include has " + s.Pattern.String()
	case none:
		return "no pattern of include matches"
	}
	return "exclude has " + s.Pattern.String()
}

// connection checks how the registry is reached.
func (e *examination) connection() {
	if slices.Contains(e.PlainHTTP, e.ref.Registry) {
		e.addFinding(finding.Error, "plain-http", fmt.Sprintf("The registry %s is spoken to over plain HTTP, which OpenTofu never does.", e.ref.Registry),
			finding.Remedy{Hint: "give the registry a certificate and leave --plain-http away"})
	}
	if e.CAFile != "" {
		e.addFinding(finding.Note, "ca-file", "OpenTofu trusts the system's certificates only, and knows nothing of --ca-file.", finding.Remedy{Command: "export SSL_CERT_FILE=" + text.Quote(e.CAFile)})
	}
}

// login tells about the login. Where OpenTofu does not find it, nobody's login
// is tried, which is what OpenTofu has then.
func (e *examination) login(ctx context.Context) {
	l := e.Login(ctx, e.ref.Registry+"/"+e.ref.Name)
	e.report.Login = &l
	if e.IsTarget && l.Err == nil {
		return // OpenTofu writes nowhere
	}
	needed := false
	if l.Found && !l.OpenTofu && e.report.Repository != "" {
		if repo, err := e.Anonymous(e.ref); err == nil {
			_, err = repo.Tags(ctx)
			needed = errors.Is(err, provider.ErrDenied)
		}
	}
	e.add(CheckLogin(l, e.ref.Registry, needed)...)
}
