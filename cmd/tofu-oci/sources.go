package main

import (
	"net/url"
	"time"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/installation"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/networkmirror"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
	"github.com/tofu-oci/tofu-oci/pkg/template"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// origin returns the source of releases in origin registries. It caches responses for the
// duration of the run.
func (cmd *command) origin() *origin.Source { return cmd.originWithLifetime(0) }

// originWithLifetime is like origin, but caches responses for the given time.
func (cmd *command) originWithLifetime(lifetime time.Duration) *origin.Source {
	return origin.New(origin.Options{HTTP: cmd.http, Services: cmd.services("providers.v1"), Token: cmd.token, Lifetime: lifetime, GitHub: cmd.github})
}

// services returns the service URLs that the CLI configuration specifies for a registry
// protocol, by host.
func (cmd *command) services(protocol string) map[svchost.Hostname]string {
	services := map[svchost.Hostname]string{}
	for host, offered := range cmd.config.Services {
		if url := offered[protocol]; url != "" {
			services[host] = url
		}
	}
	return services
}

// installation returns the source of releases according to the CLI configuration.
func (cmd *command) installation() (*installation.Installation, error) {
	i, err := installation.New(installation.Options{
		Config: cmd.config, PluginDirs: cliconfig.SystemEnvironment().PluginDirs(), Direct: cmd.origin(),
		OCI: func(t template.Template) provider.Source { return cmd.ociSource(t) },
		Network: func(text string) (provider.Source, error) {
			base, err := url.Parse(text)
			return cmd.networkMirror(base), err
		},
	})
	return i, misuse(err)
}

// networkMirror returns the source of releases in a network mirror. If signatures are
// not verified, the source doesn't contact origin registries.
func (cmd *command) networkMirror(base *url.URL) *networkmirror.Source {
	o := networkmirror.Options{
		HTTP: cmd.http, Token: cmd.token, Store: cmd.cache, Progress: cmd.out.Progress(),
		OnNote: func(note string) { cmd.out.Note("%s", note) },
	}
	if cmd.policy.Mode != trust.ModeOff {
		o.Origin = cmd.origin()
	}
	return networkmirror.New(base, o)
}

// ociSource returns the source of releases in the repositories of a template.
func (cmd *command) ociSource(t template.Template) *oci.Source {
	return oci.New(func(a provider.Address) (repository.Reader, error) {
		ref, err := t.Repository(a)
		if err != nil {
			return nil, err
		}
		return cmd.open(ref)
	}, cmd.aliases...)
}

// open opens a repository for reading.
func (cmd *command) open(ref template.Reference) (repository.Reader, error) {
	return repository.Open(ref, cmd.repos)
}

// source returns the source of releases that --from or, without the flag, the CLI
// configuration specifies. It caches responses for the duration of the run.
func (cmd *command) source() (provider.Source, error) {
	switch {
	case cmd.fromURL != nil:
		return source.NewMemo(cmd.networkMirror(cmd.fromURL), 0), nil
	case cmd.c.IsSet("from"):
		return source.NewMemo(cmd.ociSource(cmd.from), 0), nil
	}
	i, err := cmd.installation()
	if err != nil {
		return nil, err
	}
	return source.NewMemo(i, 0), nil
}

// sourceRepository returns the name of a provider's repository according to --from.
// Without the flag, the name is empty, because the CLI configuration can describe
// several methods.
func (cmd *command) sourceRepository(a provider.Address) string {
	ref, _ := cmd.from.Repository(a)
	return ref.String()
}

// openFrom opens a provider's repository and returns its template. The template comes
// from --from or, without the flag, from the first matching oci_mirror.
func (cmd *command) openFrom(a provider.Address) (repository.Reader, template.Template, error) {
	repo, t, err := cmd.openRaw(a)
	if err == nil && a.IsModule() {
		repo = repository.ModuleReader(repo)
	}
	return repo, t, err
}

// openRaw is like openFrom, but doesn't change the tags of modules.
func (cmd *command) openRaw(a provider.Address) (repository.Reader, template.Template, error) {
	var ref template.Reference
	var t template.Template
	var err error
	if a.IsModule() {
		ref, err = moduleRepository(a)
	} else if t = cmd.from; cmd.c.IsSet("from") {
		ref, err = t.Repository(a)
	} else {
		var method cliconfig.Method
		ref, method, err = cmd.mirrorOf(a)
		t = method.Template
	}
	if err != nil {
		return nil, t, err
	}
	repo, err := cmd.open(ref)
	return repo, t, err
}

// mirrorOf returns a provider's repository according to the first matching oci_mirror
// in the CLI configuration.
func (cmd *command) mirrorOf(a provider.Address) (template.Reference, cliconfig.Method, error) {
	i, err := cmd.installation()
	if err != nil {
		return template.Reference{}, cliconfig.Method{}, err
	}
	return i.Target(a)
}

// openSource is like openFrom, but returns only the repository.
func (cmd *command) openSource(a provider.Address) (repository.Reader, error) {
	repo, _, err := cmd.openFrom(a)
	return repo, err
}

// openReader returns a function that opens the target repositories for reading.
func (cmd *command) openReader(refs map[provider.Address]template.Reference) func(provider.Address) (repository.Reader, error) {
	return func(a provider.Address) (repository.Reader, error) { return cmd.open(refs[a]) }
}

// targets returns the target repository of each provider. Without --to, this is the
// repository of the first matching oci_mirror in the CLI configuration.
func (cmd *command) targets(wanted []provider.Requirement) (map[provider.Address]template.Reference, error) {
	if wanted[0].Address.IsModule() {
		return cmd.moduleTargets(wanted)
	}
	find := func(a provider.Address) (template.Reference, error) {
		ref, method, err := cmd.mirrorOf(a)
		if err == nil {
			cmd.out.Note("the target repository for %s is %s, from %s", a, ref, method)
		}
		return ref, err
	}
	if cmd.c.IsSet("to") {
		t, err := repositoryTemplate(cmd.c, "to")
		if err != nil {
			return nil, err
		}
		find = t.Repository
	}
	return cmd.distinctTargets("to", addresses(wanted), find)
}

// distinctTargets returns the repository of each address. If two addresses use the same
// repository, it returns an error. flag is the flag that specifies the repositories.
func (cmd *command) distinctTargets(flag string, of []provider.Address, find func(provider.Address) (template.Reference, error)) (map[provider.Address]template.Reference, error) {
	refs, err := template.Targets(of, find)
	if cmd.c.IsSet(flag) {
		return refs, flagError(flag, err)
	}
	return refs, misuse(err)
}
