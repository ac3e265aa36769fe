package main

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	svchost "github.com/hashicorp/terraform-svchost"
	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/internal/credentials"
	"github.com/tofu-oci/tofu-oci/internal/doctor"
	"github.com/tofu-oci/tofu-oci/internal/explain"
	"github.com/tofu-oci/tofu-oci/internal/gate"
	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/installation"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/networkmirror"
	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
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

func configFlag() cli.Flag {
	return &cli.StringFlag{Name: "config", Category: commandline.GroupNetwork, Usage: "read OpenTofu's CLI configuration from `FILE`"}
}

// networkFlags returns the flags of commands that connect to registries.
func networkFlags() []cli.Flag {
	return []cli.Flag{
		configFlag(),
		&cli.StringFlag{Name: "ca-file", Category: commandline.GroupNetwork, Usage: "also trust the CA certificates in `FILE` (PEM)"},
		&cli.StringFlag{Name: "client-cert", Category: commandline.GroupNetwork, Usage: "send registries the certificate in `FILE` (PEM)"},
		&cli.StringFlag{Name: "client-key", Category: commandline.GroupNetwork, Usage: "read the private key of --client-cert from `FILE`"},
		&cli.StringSliceFlag{Name: "plain-http", Category: commandline.GroupNetwork, Usage: "use HTTP for the registry `HOST[:PORT]` (repeatable)"},
		&cli.StringSliceFlag{Name: "token-realm", Category: commandline.GroupNetwork, Usage: "trust the token service at `HOST[:PORT]` (repeatable)"},
		&cli.DurationFlag{Name: "timeout", Category: commandline.GroupNetwork, Value: httpclient.DefaultTimeout, Usage: "abort idle requests after `DURATION`"},
	}
}

// transferFlags returns the flags of commands that transfer zips.
func transferFlags() []cli.Flag {
	return []cli.Flag{
		concurrencyFlag(publish.DefaultConcurrency),
		&cli.StringFlag{Name: "events", Category: commandline.GroupOutput, Usage: "write events to `FILE` as JSON lines"},
	}
}

func concurrencyFlag(value int) cli.Flag {
	return &cli.IntFlag{Name: "concurrency", Category: commandline.GroupTransfer, Value: value, Usage: "transfer up to `N` zips at once"}
}

// command holds the state of a running command, including its report. The method
// prepare parses common flags and sets up connections to registries. The method connect
// only sets up connections.
type command struct {
	c   *cli.Context
	out *report.Report

	// network contains the options of http.
	network httpclient.Options
	http    *http.Client
	repos   repository.Options
	config  cliconfig.Config
	// token returns the token for an origin registry.
	token func(context.Context, svchost.Hostname) (origin.Token, error)
	// github finds attestations. Without --attestations, it is nil.
	github  *origin.GitHub
	aliases provider.Aliases
	gates   gate.Gates
	// signer signs with the --sign-key key. Without the flag, it is nil.
	signer artifact.Signer
	// from is the --from template. It is zero if the flag isn't set, or if it specifies
	// a network mirror, whose URL is in fromURL.
	from    template.Template
	fromURL *url.URL

	// If a command does not have the corresponding flags, the following fields are
	// zero.
	policy      trust.Policy
	platforms   []provider.Platform
	latest      int
	minAge      time.Duration
	concurrency int
	cache       *store.Store
	// publishing contains the options for writing releases, except Verify and Signing.
	publishing publish.Options
}

// prepare parses the flags that commands have in common and prepares connections.
func (cmd *command) prepare() (err error) {
	c := cmd.c
	all, platformErr := platforms(c)
	n, latestErr := latest(c, 1)
	cmd.platforms, cmd.latest, cmd.concurrency = all, n, c.Int("concurrency")
	if err := cmp.Or(platformErr, latestErr); err != nil {
		return err
	}
	if cmd.concurrency < 1 && commandline.FlagNamed(c.Command, "concurrency") != nil {
		return usagef("invalid --concurrency %d: want at least 1", cmd.concurrency)
	}
	if err := parseSet(c, "min-age", &cmd.minAge, text.ParseAge); err != nil {
		return err
	}
	if commandline.FlagNamed(c.Command, "signatures") != nil {
		if cmd.policy, err = cmd.signaturePolicy(); err != nil {
			return err
		}
	}
	if c.String("attestations") != "" {
		if cmd.github, err = origin.GitHubFromEnv(os.Getenv); err != nil {
			return err
		}
	}
	if cmd.publishing, err = publishOptions(c); err != nil {
		return err
	}
	if cmd.cache, err = openCache(cmd); err != nil {
		return err
	}
	err = cmd.connect()
	cmd.publishing.Aliases, cmd.publishing.Platforms = cmd.aliases, cmd.platforms
	cmd.publishing.Gates, cmd.publishing.RecordSigner = cmd.gates.Option(), cmd.signer
	return err
}

// connect prepares connections. Unlike prepare, it doesn't set the signature policy,
// the cache, or the version selection.
func (cmd *command) connect() (err error) {
	if cmd.config, err = cliConfiguration(cmd); err != nil {
		return err
	}
	return cmd.connectWith(cmd.config)
}

// connectWith prepares connections with a CLI configuration that has already been read.
func (cmd *command) connectWith(config cliconfig.Config) error {
	c, out := cmd.c, cmd.out
	cmd.config = config
	token := installation.Tokens(config, cliconfig.SystemEnvironment(), func(note string) { out.Note("%s", note) })
	cmd.token = func(ctx context.Context, host svchost.Hostname) (origin.Token, error) {
		found, err := token(out.Debug.Programs(ctx), host)
		out.Debug.Once("token", "host", string(host), "from", found.From, "error", err)
		return found, err
	}
	if d := c.Duration("timeout"); d < time.Second {
		return usagef("invalid --timeout %s: want at least 1s", d)
	}
	realms, err := tokenRealms(c)
	if err := cmp.Or(err, parseAll(c, "alias", &cmd.aliases, provider.ParseAlias), parseAll(c, "gate", &cmd.gates, gate.Parse)); err != nil {
		return err
	}
	if _, single := commandline.FlagNamed(c.Command, "from").(*cli.StringFlag); single && c.IsSet("from") && !strings.HasPrefix(c.Command.HelpName, "module ") && moduleFlag(c) == (template.ModuleTemplate{}) {
		if err := cmd.parseFrom(); err != nil {
			return err
		}
	}
	if cmd.signer, err = readSigner(c); err != nil {
		return err
	}
	if cmd.network, err = networkOptions(c, out); err != nil {
		return err
	}
	if cmd.http, err = httpclient.New(cmd.network); err != nil {
		return flagError("ca-file", err)
	}
	cmd.repos = repository.Options{
		HTTP: cmd.http, PlainHTTP: c.StringSlice("plain-http"), TokenRealms: realms, Credential: repositoryCredentials(config, out.Debug), Progress: out.Progress(),
		Buffers: &transfer.BufferPool{}, // all repositories share the buffers
	}
	return nil
}

// networkOptions returns the options of the HTTP client for origin registries and OCI
// registries.
func networkOptions(c *cli.Context, out *report.Report) (httpclient.Options, error) {
	o := httpclient.Options{
		Timeout: c.Duration("timeout"), CAFile: c.String("ca-file"), UserAgent: "tofu-oci/" + thisBuild().Version, OnRetry: out.Retried, Trace: out.Debug.Trace(),
		RegistryCertDirs: credentials.SystemEnvironment().CertDirs(),
	}
	cert, key := c.String("client-cert"), c.String("client-key")
	switch {
	case cert == "" && key == "":
		return o, nil
	case key == "":
		return o, usagef("--client-cert requires --client-key; if one file contains both, specify it with both flags")
	case cert == "":
		return o, usagef("--client-key requires --client-cert; if one file contains both, specify it with both flags")
	}
	certificate, err := httpclient.ReadClientCertificate(cert, key)
	o.ClientCertificate = &certificate
	return o, flagError("client-cert", err)
}

// parseFrom parses --from. Only commands whose help mentions network mirrors accept the
// URL of a network mirror.
func (cmd *command) parseFrom() (err error) {
	isURL, only := strings.Contains(cmd.c.String("from"), "://"), cmd.c.Command.Name == "mirror"
	switch {
	case only && !isURL:
		return usagef("--from: want the URL of a network mirror, such as https://mirror.example.com/providers/; to copy releases between OCI repositories, use tofu-oci copy")
	case isURL && slices.Contains([]string{"mirror", "pull", lockName}, cmd.c.Command.Name):
		return parse(cmd.c, "from", &cmd.fromURL, func(text string) (*url.URL, error) {
			return networkmirror.ParseURL(text, cmd.c.StringSlice("plain-http"))
		})
	}
	cmd.from, err = repositoryTemplate(cmd.c, "from")
	return err
}

// tokenRealms parses --token-realm. An invalid host would have no effect, so it is
// rejected.
func tokenRealms(c *cli.Context) ([]string, error) {
	hosts := c.StringSlice("token-realm")
	for _, host := range hosts {
		if u, err := url.Parse("//" + host); err != nil || u.Host != host || u.Hostname() == "" {
			return nil, usagef("invalid --token-realm %q: want a host with an optional port, such as token.example.com or 10.0.0.7:8443", host)
		}
	}
	return hosts, nil
}

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

// source returns the source of releases: the --from repositories or network mirror or,
// without the flag, the methods in the CLI configuration. It caches responses for the
// duration of the run.
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

// openFrom opens a provider's repository and returns the template that determines it.
// This is the --from template or, without the flag, the template of the first matching
// oci_mirror.
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

// targets returns the target repository of each provider: the --to repository or,
// without the flag, the repository of the first matching oci_mirror in the CLI
// configuration.
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

// remedies returns hints for releases that are missing from the source.
func (cmd *command) remedies() doctor.Remedies {
	return doctor.Remedies{Repository: cmd.openSource, Template: cmd.from}
}

// withRemedy adds a hint to an error about a release in a repository, unless the error
// is nil.
func (cmd *command) withRemedy(err error) error {
	return withHint(err, cmd.remedies().Find(cmd.c.Context, err))
}

// withHint adds a hint to an error, unless the error is nil or the hint is empty.
func withHint(err error, hint string) error {
	if err == nil || hint == "" {
		return err
	}
	return explain.WithHint(err, hint)
}
