package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/finding"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/installation"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// Options configures [Examine]. All functions are required unless their comments
// specify otherwise.
type Options struct {
	// Wanted is the requested provider. If zero, Examine checks only the parts of
	// Template that all providers share.
	Wanted   provider.Requirement
	Platform provider.Platform
	Config   cliconfig.Config
	Files    cliconfig.Files
	// Installation resolves providers based on Config.
	Installation *installation.Installation
	// Repository opens a repository with credentials. Anonymous opens a repository
	// without credentials.
	Repository, Anonymous func(template.Reference) (repository.Reader, error)
	// Target opens a repository for [RunProbe]. It is required only if Push is set.
	Target func(template.Reference) (repository.Repository, error)
	// Login describes the credentials for a repository, "host/name".
	Login func(ctx context.Context, repository string) Login
	// Registry checks whether a registry accepts the credentials for a reference, like
	// [repository.CheckCredentials]. The name in the reference can be a prefix of
	// repository names. Registry is required only if Wanted is zero.
	Registry func(ctx context.Context, at template.Reference) (challenged bool, err error)
	// PlainHTTP contains the registries that are contacted without TLS.
	PlainHTTP []string
	// CAFile is an optional file with additional certificates. OpenTofu doesn't trust
	// these certificates.
	CAFile string
	// HasClientCertificate, if not nil, reports whether tofu-oci sends a client
	// certificate to a registry. OpenTofu doesn't send any.
	HasClientCertificate func(registry string) (bool, error)
	// Lock is the entry for the provider in a lock file, or nil.
	Lock *lockfile.Selection
	// Template is the repository template. If nil, it is taken from Config.
	Template *template.Template
	// IsTarget reports whether releases will be written to Template. In this case, the
	// releases need not exist yet.
	IsTarget bool
	// Push enables the check for push access. In a registry, [RunProbe] pushes an artifact
	// and deletes it again.
	Push bool
	// Aliases contains the declared aliases.
	Aliases provider.Aliases
}

// examination is the state of a call to [Examine]: the options and the report so far.
type examination struct {
	Options
	report Report
	ref    template.Reference
	// method is the installation method that contains the template.
	method cliconfig.Method
}

// Examine checks each step of a provider's installation, from the configuration to the
// zip, as far as possible. It reports problems as findings. If ctx is canceled, it
// returns the cause, and the report lists the content that a probe could not delete.
func Examine(ctx context.Context, o Options) (Report, error) {
	e := &examination{Options: o, report: ConfigReport(o.Files, nil)}
	if o.Template != nil && o.Wanted.Address == (provider.Address{}) {
		err := e.examineTemplate(ctx)
		return e.report, err
	}
	e.report.Source, e.report.Platform = o.Wanted.String(), o.Platform.String()
	// 1. Check the configuration, and find the repository.
	if !e.locate() {
		return e.report, nil
	}
	// 2. Check the registry and its credentials.
	repo, err := e.Repository(e.ref)
	if err != nil {
		e.addFinding(finding.Error, "repository-name", err.Error()+".", finding.Remedy{Hint: "correct " + e.templateSource()})
		return e.report, nil //nolint:nilerr // the error is a finding
	}
	if e.ref.Registry != "" {
		e.connection()
		e.login(ctx)
	}
	// 3. Check the version and its package.
	if err := e.examineVersions(ctx, repo); err != nil && ctx.Err() == nil {
		e.reportError(err)
	}
	// 4. Check for push access.
	if e.Push && ctx.Err() == nil {
		if err := e.push(ctx, repo); err != nil {
			return e.report, err
		}
	}
	return e.report, ctx.Err()
}

// ConfigReport returns a report about the files of a CLI configuration.
func ConfigReport(files cliconfig.Files, findings []finding.Finding) Report {
	r := Report{Files: []File{}, Methods: []Method{}, Findings: append([]finding.Finding{}, findings...)}
	for _, p := range files {
		r.Files = append(r.Files, File{Path: p.Path, Reason: p.Why, Read: p.Read(), Missing: !p.Found && p.Err == nil})
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

// templateSource returns the location of the template, for use in messages.
func (e *examination) templateSource() string {
	if e.Template != nil {
		return "the template"
	}
	return e.method.Position.String()
}

// resolve reports the matching installation methods and finds the repository.
func (e *examination) resolve() bool {
	a := e.Wanted.Address
	matched := false
	for _, s := range e.Installation.Explain(a) {
		e.report.Methods = append(e.report.Methods, Method{s.Method.String(), s.Matches, methodReason(s)})
		matched = matched || s.Matches
		if s.Matches && s.Method.Kind == cliconfig.NetworkMirror && strings.Contains(string(a.Host), ":") {
			e.addFinding(finding.Error, "host-port", fmt.Sprintf("OpenTofu can't request %[2]s from the network_mirror at %[1]s, because the host of the provider has a port.", s.Method.Position, a),
				finding.Remedy{Hint: fmt.Sprintf("add to the network_mirror block:\nexclude = [%q]", a.String())})
		}
	}
	ref, method, err := e.Installation.Target(a)
	var missing *installation.NoMirrorError
	switch {
	case errors.As(err, &missing) && !matched:
		e.addFinding(finding.Error, "no-method", fmt.Sprintf("No installation method matches %s, so OpenTofu does not find it.", a), finding.Remedy{Hint: fmt.Sprintf("add to the block of a method:\ninclude = [%q]", a.String())})
	case errors.As(err, &missing):
		e.addFinding(finding.Warning, "no-mirror", fmt.Sprintf("No oci_mirror matches %s, so OpenTofu does not install it from an OCI registry.", a), finding.Remedy{Hint: "add to the provider_installation block:\n" + missing.Block})
	case err != nil:
		e.addFinding(finding.Error, "repository-name", err.Error()+".", finding.Remedy{Hint: "correct the repository_template at " + method.Position.String()})
	default:
		e.ref, e.method, e.report.Repository = ref, method, ref.String()
		return true
	}
	return false
}

// methodReason explains why a method matches or doesn't match.
func methodReason(s installation.Step) string {
	none := s.Pattern == provider.Pattern{}
	switch {
	case s.Method.Kind == cliconfig.DevOverrides:
		return "dev_overrides contains the provider"
	case s.Matches && s.Unless:
		return "unless a plugin directory contains the provider"
	case s.Matches && none:
		return "it matches all providers except those in exclude"
	case s.Matches:
		return "include contains " + s.Pattern.String()
	case none:
		return "none of the patterns in include match"
	}
	return "exclude contains " + s.Pattern.String()
}

// withoutCertificate explains how to use a registry that requires a client certificate with
// OpenTofu.
const withoutCertificate = "run OpenTofu with tofu-oci exec, or let it use a server that tofu-oci serve starts"

// connection adds findings about connection settings that OpenTofu doesn't support.
func (e *examination) connection() {
	if slices.Contains(e.PlainHTTP, e.ref.Registry) {
		e.addFinding(finding.Error, "plain-http", fmt.Sprintf("The registry %s is accessed over plain HTTP, which OpenTofu does not support.", e.ref.Registry),
			finding.Remedy{Hint: "set up TLS for the registry, and omit --plain-http"})
	}
	if e.CAFile != "" {
		e.addFinding(finding.Note, "ca-file", "OpenTofu does not use --ca-file, because it trusts only the system's certificates.", finding.Remedy{Command: "export SSL_CERT_FILE=" + text.Quote(e.CAFile)})
	}
	if e.HasClientCertificate != nil && !e.ref.IsLayout() {
		// The requests to the registry report this error.
		if has, _ := e.HasClientCertificate(e.ref.Registry); has {
			e.addFinding(finding.Note, "client-certificate", fmt.Sprintf("OpenTofu does not send a client certificate, so it cannot access %s if the registry requires one.", e.ref.Registry),
				finding.Remedy{Hint: withoutCertificate})
		}
	}
}

// login reports the credentials. If OpenTofu doesn't find them, it checks whether the
// registry requires credentials.
func (e *examination) login(ctx context.Context) {
	l := e.Login(ctx, e.ref.Registry+"/"+e.ref.Name)
	e.report.Login = &l
	if e.IsTarget && l.Err == nil {
		return // OpenTofu never pushes releases
	}
	needed := false
	if l.Found && !l.OpenTofu && e.report.Repository != "" {
		if repo, err := e.Anonymous(e.ref); err == nil {
			_, err = repo.Tags(ctx)
			needed = errors.Is(err, provider.ErrForbidden)
		}
	}
	e.add(CheckLogin(l, e.ref.Registry, needed)...)
}
