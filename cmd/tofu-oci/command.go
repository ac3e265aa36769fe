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
		&cli.StringSliceFlag{Name: "plain-http", Category: commandline.GroupNetwork, Usage: "use HTTP for the registry `HOST[:PORT]`"},
		&cli.StringSliceFlag{Name: "token-realm", Category: commandline.GroupNetwork, Usage: "trust the token service at `HOST[:PORT]`"},
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
	return &cli.IntFlag{Name: "concurrency", Category: commandline.GroupOperation, Value: value, Usage: "transfer up to `N` zips at once"}
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
	// from is the --from template. It is zero if the flag isn't set or specifies a
	// network mirror. fromURL is the mirror's URL.
	from    template.Template
	fromURL *url.URL

	// The following fields are zero if a command lacks the corresponding flags.
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
	if cmd.c.Bool("dry-run") && len(cmd.gates) > 0 {
		cmd.out.Note("gates don't run with --dry-run, so they can still deny or hold versions that are listed here")
	}
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

// tokenRealms parses --token-realm. It rejects invalid hosts, because they would have
// no effect.
func tokenRealms(c *cli.Context) ([]string, error) {
	hosts := c.StringSlice("token-realm")
	for _, host := range hosts {
		if u, err := url.Parse("//" + host); err != nil || u.Host != host || u.Hostname() == "" {
			return nil, usagef("invalid --token-realm %q: want a host with an optional port, such as token.example.com or 10.0.0.7:8443", host)
		}
	}
	return hosts, nil
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
