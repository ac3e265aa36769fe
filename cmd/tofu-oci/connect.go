package main

import (
	"context"
	"net/http"
	"net/url"
	"time"

	svchost "github.com/hashicorp/terraform-svchost"
	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/internal/doctor"
	"github.com/tofu-oci/tofu-oci/internal/explain"
	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/installation"
	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
	"github.com/tofu-oci/tofu-oci/pkg/store"
	"github.com/tofu-oci/tofu-oci/pkg/template"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
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

// command is a command that runs: what all commands have in common of its flags, and what
// it reaches origin registries and repositories with.
type command struct {
	c   *cli.Context
	out *report.Report

	http   *http.Client
	repos  repository.Options
	config cliconfig.Config
	// token gives the tokens for origin registries.
	token func(context.Context, svchost.Hostname) (origin.Token, error)
	// aliases are what --alias declares.
	aliases provider.Aliases
	// template is that of --from, the zero value without it.
	template template.Template

	// What flags say that not all commands have.
	judging     trust.Policy
	platforms   []provider.Platform
	newest      int
	minAge      time.Duration
	concurrency int
	cache       *store.Store
}

// begin reads the flags that commands have in common, and connects.
func begin(c *cli.Context, out *report.Report) (*command, error) {
	read := &command{}
	var err error
	if read.platforms, err = platforms(c); err != nil {
		return nil, err
	}
	if read.newest, err = newestOf(c, 1); err != nil {
		return nil, err
	}
	if commandline.FlagNamed(c.Command, "concurrency") != nil {
		if read.concurrency = c.Int("concurrency"); read.concurrency < 1 {
			return nil, usagef("--concurrency %d: must be at least 1", read.concurrency)
		}
	}
	if read.minAge, err = minAge(c); err != nil {
		return nil, err
	}
	if commandline.FlagNamed(c.Command, "signatures") != nil {
		if read.judging, err = policy(c); err != nil {
			return nil, err
		}
	}
	if read.cache, err = openCache(c, out); err != nil {
		return nil, err
	}
	err = read.connect(c, out)
	return read, err
}

// connect returns a command that only connects.
func connect(c *cli.Context, out *report.Report) (*command, error) {
	cmd := &command{}
	err := cmd.connect(c, out)
	return cmd, err
}

func (cmd *command) connect(c *cli.Context, out *report.Report) error {
	config, err := cliConfiguration(c, out)
	if err != nil {
		return err
	}
	return cmd.connectAs(c, out, config)
}

// connectAs connects as a configuration says that is read already.
func (cmd *command) connectAs(c *cli.Context, out *report.Report, config cliconfig.Config) error {
	cmd.c, cmd.out, cmd.config = c, out, config
	token := installation.Tokens(config, cliconfig.SystemEnvironment(), func(note string) { out.Note("%s", note) })
	cmd.token = func(ctx context.Context, host svchost.Hostname) (origin.Token, error) {
		found, err := token(out.Debug.Programs(ctx), host)
		out.Debug.Once("token", "host", string(host), "from", found.From, "error", err)
		return found, err
	}
	if d := c.Duration("timeout"); d < time.Second {
		return usagef("--timeout %s: must be at least 1s", d)
	}
	realms, err := tokenRealms(c)
	if err != nil {
		return err
	}
	if cmd.aliases, err = aliases(c); err != nil {
		return err
	}
	if _, one := commandline.FlagNamed(c.Command, "from").(*cli.StringFlag); one && c.IsSet("from") {
		if cmd.template, err = repositoryTemplate(c, "from"); err != nil {
			return err
		}
	}
	cmd.http, err = httpclient.New(httpclient.Options{
		Timeout: c.Duration("timeout"), CAFile: c.String("ca-file"), UserAgent: "tofu-oci/" + thisBuild().Version, OnRetry: out.Retried, Trace: out.Debug.Trace(),
	})
	if err != nil {
		return usagef("--ca-file: %w", err)
	}
	cmd.repos = repository.Options{
		HTTP: cmd.http, PlainHTTP: c.StringSlice("plain-http"), TokenRealms: realms, Credential: loginsOf(config, out.Debug), Progress: out.Progress(),
		Buffers: &transfer.BufferPool{}, // shared by all repositories
	}
	return nil
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
func (cmd *command) origin() *origin.Source { return cmd.originFor(0) }

// originFor is one that keeps them for a time.
func (cmd *command) originFor(lifetime time.Duration) *origin.Source {
	services := map[svchost.Hostname]string{}
	for host, offered := range cmd.config.Services {
		if url := offered["providers.v1"]; url != "" {
			services[host] = url
		}
	}
	return origin.New(origin.Options{HTTP: cmd.http, Services: services, Token: cmd.token, Lifetime: lifetime})
}

// installed is the source of releases as the CLI configuration says.
func (cmd *command) installed() (*installation.Installation, error) {
	i, err := installation.New(installation.Options{
		Config: cmd.config, PluginDirs: cliconfig.SystemEnvironment().PluginDirs(), Direct: cmd.origin(),
		OCI: func(t template.Template) provider.Source { return cmd.mirrored(t) },
	})
	if err != nil {
		return nil, usagef("%w", err)
	}
	return i, nil
}

// mirrored is the source of releases in the repositories of a template.
func (cmd *command) mirrored(t template.Template) *oci.Source {
	return oci.New(func(a provider.Address) (repository.Reader, error) {
		return cmd.repository(t, a)
	}, cmd.aliases...)
}

func (cmd *command) repository(t template.Template, a provider.Address) (repository.Repository, error) {
	ref, err := t.Repository(a)
	if err != nil {
		return nil, err
	}
	return repository.Open(ref, cmd.repos)
}

// from is the source that --from names, or without it the CLI configuration. In a
// run nothing is asked twice.
func (cmd *command) from() (provider.Source, error) {
	if cmd.c.IsSet("from") {
		return source.NewMemo(cmd.mirrored(cmd.template), 0), nil
	}
	i, err := cmd.installed()
	if err != nil {
		return nil, err
	}
	return source.NewMemo(i, 0), nil
}

// lookedAt returns the repository in which a provider is looked for, for results: empty
// if not --from but the CLI configuration says so, whose methods are several.
func (cmd *command) lookedAt(a provider.Address) string {
	if !cmd.c.IsSet("from") {
		return ""
	}
	ref, err := cmd.template.Repository(a)
	if err != nil {
		return ""
	}
	return ref.String()
}

// audited returns the repository that a provider comes from, and the template that names
// it: by --from, or without it by the CLI configuration.
func (cmd *command) audited(a provider.Address) (repository.Repository, template.Template, error) {
	if cmd.c.IsSet("from") {
		repo, err := cmd.repository(cmd.template, a)
		return repo, cmd.template, err
	}
	i, err := cmd.installed()
	if err != nil {
		return nil, template.Template{}, err
	}
	ref, method, err := i.Target(a)
	if err != nil {
		return nil, template.Template{}, err
	}
	repo, err := repository.Open(ref, cmd.repos)
	return repo, method.Template, err
}

// reader is audited for sources.
func (cmd *command) reader(a provider.Address) (repository.Reader, error) {
	repo, _, err := cmd.audited(a)
	return repo, err
}

// written opens the repositories that releases go to, for sources.
func (cmd *command) written(refs map[provider.Address]template.Reference) func(provider.Address) (repository.Reader, error) {
	return func(a provider.Address) (repository.Reader, error) { return repository.Open(refs[a], cmd.repos) }
}

// targets finds the repository of each provider: by --to, or without it by the
// first oci_mirror of the CLI configuration that is for the provider, which is
// said.
func (cmd *command) targets(wanted []provider.Requirement) (map[provider.Address]template.Reference, error) {
	find := func(a provider.Address) (template.Reference, error) {
		i, err := cmd.installed()
		if err != nil {
			return template.Reference{}, err
		}
		ref, method, err := i.Target(a)
		if err == nil {
			cmd.out.Note("%s goes to %s, by %s", a, ref, method)
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
	refs, repositories := map[provider.Address]template.Reference{}, map[provider.Address]string{}
	var err error
	for _, a := range addresses(wanted) {
		if _, known := refs[a]; known {
			continue
		}
		if refs[a], err = find(a); err != nil {
			break
		}
		repositories[a] = refs[a].String()
	}
	if err == nil {
		err = template.CheckDistinct(repositories)
	}
	if err != nil && cmd.c.IsSet("to") {
		return nil, usagef("--to: %w", err)
	}
	if err != nil {
		return nil, usagef("%w", err)
	}
	return refs, nil
}

// remedies says what to do if a release is not where providers come from.
func (cmd *command) remedies() doctor.Remedies {
	return doctor.Remedies{Repository: cmd.reader, Template: cmd.template}
}

// withRemedy adds what to do to an error about a release in a repository.
func (cmd *command) withRemedy(err error) error {
	return hinted(err, cmd.remedies().Find(cmd.c.Context, err))
}

// hinted adds a hint to an error, if there is one.
func hinted(err error, hint string) error {
	if err == nil || hint == "" {
		return err
	}
	return explain.WithHint(err, hint)
}
