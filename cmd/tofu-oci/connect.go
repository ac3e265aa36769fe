package main

import (
	"context"
	"net/http"
	"net/url"
	"time"

	svchost "github.com/hashicorp/terraform-svchost"
	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/installation"
	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// networkFlags are those of every command that may reach a registry.
func networkFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "config", Usage: "OpenTofu CLI configuration `FILE` to read instead of those that OpenTofu reads"},
		&cli.StringFlag{Name: "ca-file", Usage: "`FILE` of PEM certificates to trust beside the system's"},
		&cli.StringSliceFlag{Name: "plain-http", Usage: "speak http to the OCI registry `HOST[:PORT]` (repeatable)"},
		&cli.StringSliceFlag{Name: "token-realm", Usage: "let the login go to the OCI registry's token service at `HOST[:PORT]`, though its address is private or the registry speaks http (repeatable)"},
		&cli.DurationFlag{Name: "timeout", Value: httpclient.DefaultTimeout, Usage: "give a connection up after `DURATION` of silence"},
	}
}

// transferFlags are those of every command that moves zips.
func transferFlags() []cli.Flag {
	return []cli.Flag{
		&cli.IntFlag{Name: "concurrency", Value: publish.DefaultConcurrency, Usage: "transfer `N` zips at once"},
		eventsFlag(),
	}
}

// failFastFlag is for commands that work on several PROVIDERs.
func failFastFlag() cli.Flag {
	return &cli.BoolFlag{Name: "fail-fast", Usage: "begin nothing more when one has failed, instead of going on with the others"}
}

// connection is what commands reach origin registries and repositories with.
type connection struct {
	http   *http.Client
	repos  repository.Options
	config cliconfig.Config
	// token gives the tokens for origin registries.
	token func(context.Context, svchost.Hostname) (origin.Token, error)
	// aliases are what --alias declares.
	aliases provider.Aliases
}

func connect(c *cli.Context, out *report.Report) (*connection, error) {
	config, err := cliConfiguration(c, out)
	if err != nil {
		return nil, err
	}
	return connectAs(c, out, config)
}

// connectAs connects as a configuration says that is read already.
func connectAs(c *cli.Context, out *report.Report, config cliconfig.Config) (*connection, error) {
	if d := c.Duration("timeout"); d < time.Second {
		return nil, usagef("--timeout %s: must be at least 1s", d)
	}
	realms, err := tokenRealms(c)
	if err != nil {
		return nil, err
	}
	conn := &connection{config: config, token: originTokens(config, out)}
	if conn.aliases, err = aliases(c); err != nil {
		return nil, err
	}
	conn.http, err = httpclient.New(httpclient.Options{
		Timeout: c.Duration("timeout"), CAFile: c.String("ca-file"), UserAgent: "tofu-oci/" + thisBuild().Version, Retried: out.Retried, Trace: out.Debug.Trace(),
	})
	if err != nil {
		return nil, usagef("--ca-file: %w", err)
	}
	login, err := loginsOf(conn.config, out.Debug)
	if err != nil {
		return nil, err
	}
	conn.repos = repository.Options{
		HTTP: conn.http, PlainHTTP: c.StringSlice("plain-http"), TokenRealms: realms, Credential: login, Progress: out.Progress(),
		Windows: &repository.Windows{}, // one for the whole run
	}
	return conn, nil
}

// tokenRealms reads --token-realm. What is no host would allow nothing, and
// leave the user with the same refusal.
func tokenRealms(c *cli.Context) ([]string, error) {
	hosts := c.StringSlice("token-realm")
	for _, host := range hosts {
		if u, err := url.Parse("//" + host); err != nil || u.Host != host || u.Hostname() == "" {
			return nil, usagef("--token-realm %s: must be a host, or a host and a port: token.example.com, 10.0.0.7:8443", host)
		}
	}
	return hosts, nil
}

// origin is the source of releases at their origin registries, which keeps their answers
// for the run.
func (conn *connection) origin() *origin.Source { return conn.originFor(0) }

// originFor is one that keeps them for a time.
func (conn *connection) originFor(lifetime time.Duration) *origin.Source {
	services := map[svchost.Hostname]string{}
	for host, offered := range conn.config.Services {
		if url := offered["providers.v1"]; url != "" {
			services[host] = url
		}
	}
	return origin.New(origin.Options{HTTP: conn.http, Services: services, Token: conn.token, Lifetime: lifetime})
}

// installed is the source of releases as the CLI configuration says.
func (conn *connection) installed() (*installation.Installation, error) {
	i, err := installation.New(installation.Options{
		Config: conn.config, PluginDirs: cliconfig.SystemEnvironment().PluginDirs(), Direct: conn.origin(),
		OCI: func(t template.Template) provider.Source { return conn.mirrored(t) },
	})
	if err != nil {
		return nil, usagef("%w", err)
	}
	return i, nil
}

// mirrored is the source of releases in the repositories of a template.
func (conn *connection) mirrored(t template.Template) *oci.Source {
	return oci.New(func(a provider.Address) (repository.Reader, error) {
		return conn.repository(t, a)
	}, conn.aliases...)
}

func (conn *connection) repository(t template.Template, a provider.Address) (repository.Repository, error) {
	ref, err := t.Repository(a)
	if err != nil {
		return nil, err
	}
	return repository.Open(ref, conn.repos)
}

// from is the source that --from names, or without it the CLI configuration. In a
// run nothing is asked twice.
func (conn *connection) from(c *cli.Context) (provider.Source, error) {
	if !c.IsSet("from") {
		i, err := conn.installed()
		if err != nil {
			return nil, err
		}
		return source.NewMemo(i, 0), nil
	}
	t, err := repositoryTemplate(c, "from")
	if err != nil {
		return nil, err
	}
	return source.NewMemo(conn.mirrored(t), 0), nil
}

// into opens the repositories that releases go to, each with the programs that are
// about it.
func (conn *connection) into(c *cli.Context, refs map[provider.Address]template.Reference, o publish.Options) func(provider.Address) (repository.Repository, publish.Options, error) {
	return func(a provider.Address) (repository.Repository, publish.Options, error) {
		return conn.opened(c, o, refs[a])
	}
}

// lookedAt says in which repository a provider is looked for, for results: empty
// where not --from but the CLI configuration says so, whose methods are several.
func (conn *connection) lookedAt(c *cli.Context) func(provider.Address) string {
	if !c.IsSet("from") {
		return func(provider.Address) string { return "" }
	}
	t, err := repositoryTemplate(c, "from")
	return func(a provider.Address) string {
		if err != nil {
			return ""
		}
		ref, err := t.Repository(a)
		if err != nil {
			return ""
		}
		return ref.String()
	}
}

// targets finds the repository of each provider: by --to, or without it by the
// first oci_mirror of the CLI configuration that is for the provider, which is
// said.
func (conn *connection) targets(c *cli.Context, out *report.Report, as []provider.Address) (map[provider.Address]template.Reference, error) {
	find := func(a provider.Address) (template.Reference, error) {
		i, err := conn.installed()
		if err != nil {
			return template.Reference{}, err
		}
		ref, method, err := i.Target(a)
		if err == nil {
			out.Note("%s goes to %s, by %s", a, ref, method)
		}
		return ref, err
	}
	if c.IsSet("to") {
		t, err := repositoryTemplate(c, "to")
		if err != nil {
			return nil, err
		}
		find = t.Repository
	}
	refs, err := publish.Targets(as, find)
	if err != nil && c.IsSet("to") {
		return nil, usagef("--to: %w", err)
	}
	if err != nil {
		return nil, usagef("%w", err)
	}
	return refs, nil
}
