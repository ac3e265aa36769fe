package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"

	svchost "github.com/hashicorp/terraform-svchost"
	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/catalog"
	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/internal/serve/access"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/serve"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// serveText is what the help of serve begins with.
const serveText = `Speaks the protocols that Terraform, older OpenTofu, IDEs and Terragrunt speak,
over the repositories that mirror and publish fill. It keeps nothing of its own:
any number of servers may stand beside each other, and be restarted at any time.

Network mirror, for addresses of any host without a port, at BASE/mirror/:
   provider_installation {
     network_mirror { url = "https://tofu.example.com/mirror/" }
   }

Provider registry, for source = "tofu.example.com/NAMESPACE/TYPE". Clients verify
the author's signature, which lies in the artifact. What nobody signed is left
out, and named in the log, unless --sign-key signs it: with the key of this
server, not of its author. The host that a release was mirrored from does not
count here: it is as if --alias allowed all of them. A template that has
{hostname} is asked for registry.opentofu.org.

What there is, /api/v1/ says as JSON: providers, versions, what they hold, and what
verify says of them. The providers of a registry are those of the repositories that
it lists, or of --providers FILE, which is read again when it changes.

Several --from are tried in order, and the first that has the provider is used. A
repository that holds the same name of another host does not have it. If a
repository cannot be read, the next one is not tried.

A list of tags is believed for --tags-ttl. When a registry does not answer, what is
known is served for --stale-if-error, and says so in Warning and Age headers.

Everybody may read everything, unless --serve-config FILE says who may read what,
by tokens or the OIDC tokens of jobs. The rules apply to the address that a release
is stored as, whichever address was requested. Clients send no login with archives,
so their links carry a signature that is good for an hour: replicas share
--archive-key.

--pull-through PATTERN brings what the repositories lack from origin registries, when
somebody asks for it: versions are listed and described by the origin's documents, and
the first request for an archive mirrors the whole release while its bytes go to the
client. What mirror checks is checked, what --signatures, --keyring and --trust refuse
is refused, and --min-age holds back what is young. The server's own login has to be
one that may write. A pattern names its host. A provider that lies nowhere goes to the
last --from.

Each answer is a line on stdout. On Ctrl-C, or SIGTERM, downloads come to their end
first. The certificate is read again when its files change.

Examples:
   # what is on a stick, to this machine
   tofu-oci serve --from oci-layout:/media/stick/{namespace}/{type}

   # a company's mirror, and its own providers
   tofu-oci serve --listen :443 --tls-cert tls.crt --tls-key tls.key \
      --from ghcr.io/acme/own/{namespace}/{type} --from ghcr.io/acme/mirror/{namespace}/{type}

   # what hashicorp and acme release, from three days on, as soon as somebody wants it
   tofu-oci serve --listen :443 --tls-cert tls.crt --tls-key tls.key --min-age 72h \
      --from ghcr.io/acme/mirror/{namespace}/{type} \
      --pull-through 'hashicorp/*' --pull-through 'acme/*'

   # behind a proxy that speaks TLS, below a path
   tofu-oci serve --from ghcr.io/acme/mirror/{namespace}/{type} --listen 127.0.0.1:8080 \
      --base-url https://tools.example.com/tofu --trusted-proxy 127.0.0.1/32`

func serveCommand() *cli.Command {
	return &cli.Command{
		Name:        "serve",
		Usage:       "serve providers from OCI repositories to clients that know no OCI",
		ArgsUsage:   "--from REPO... [--listen ADDRESS] [--tls-cert FILE --tls-key FILE] [FLAG...]",
		Description: serveText,
		Flags:       slices.Concat(servedFlags(), pullThroughFlags(), listenFlags(), networkFlags(), outputFlags()),
		Action:      printing(serveAction),
	}
}

// servedFlags are about what is served, and to whom.
func servedFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "from", Usage: "repository template `REPO` to serve (repeatable: the first that has a provider answers)"},
		providersFlag(),
		&cli.StringFlag{Name: "serve-config", Usage: "`FILE` that says who may read what, and what other hosts publish"},
		&cli.StringFlag{Name: "archive-key", Usage: "`FILE` with the key that signs links to archives (default: a new one at each start)"},
		&cli.StringFlag{Name: "sign-key", Usage: "sign what nobody signed, for the registry protocol, with the secret OpenPGP key in `FILE`"},
		passphraseFlag(),
		&cli.BoolFlag{Name: "redirect", Usage: "send clients to the storage behind a registry, where it has URLs that need no login"},
		cacheFlag("keep archives in `DIR`, and take them from there"),
		&cli.DurationFlag{Name: "tags-ttl", Value: serve.DefaultMaxAge, Usage: "believe a list of tags for `DURATION`"},
		&cli.DurationFlag{Name: "stale-if-error", Value: serve.DefaultStaleIfError, Usage: "serve what is known for `DURATION` when a registry does not answer"},
		&cli.StringFlag{Name: "memory", Value: "32MiB", Usage: "keep `SIZE` of lists, indexes and signatures in memory"},
		aliasFlag(),
		&cli.StringFlag{Name: "unannotated", Usage: "treat releases without a provider annotation as those of `HOST`; without this flag, only callers who may read everything can read them"},
	}
}

// listenFlags are about how clients reach the server.
func listenFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "listen", Value: "127.0.0.1:8080", Usage: "`ADDRESS` to answer on, HOST:PORT or :PORT"},
		&cli.StringFlag{Name: "tls-cert", Usage: "`FILE` with the certificate and its chain, in PEM form"},
		&cli.StringFlag{Name: "tls-key", Usage: "`FILE` with its key, in PEM form"},
		&cli.BoolFlag{Name: "insecure-http", Usage: "speak HTTP without TLS on an address that other machines reach"},
		&cli.StringFlag{Name: "base-url", Usage: "`URL` at which clients reach the server (default: what the request says)"},
		&cli.StringSliceFlag{Name: "trusted-proxy", Usage: "believe the X-Forwarded headers of `NETWORK`, such as 10.0.0.0/8 (repeatable)"},
		&cli.Float64Flag{Name: "rate", Usage: "answer `N` requests a second of each client; 0 is any number"},
		&cli.IntFlag{Name: "max-connections", Value: serve.DefaultMaxConnections, Usage: "have `N` connections open; more of them wait"},
		&cli.IntFlag{Name: "max-connections-per-address", Usage: "allow `N` open connections from one address, or from one IPv6 /64 network; others are closed (default: three quarters of --max-connections)"},
		metricsFlag(),
		&cli.DurationFlag{Name: "grace", Value: serve.DefaultGrace, Usage: "let downloads go on for `DURATION` when the server ends"},
	}
}

func serveAction(c *cli.Context, out *report.Report) error {
	if c.Args().Present() {
		return usagef("%q is no flag: serve takes no PROVIDER; see tofu-oci serve --help", c.Args().First())
	}
	lines := report.NewServerLog(out)
	options, err := serveOptions(c, out, lines)
	if err != nil {
		return err
	}
	life, err := serveLife(c, lines)
	if err != nil {
		return err
	}
	server, err := serve.New(options)
	if err != nil {
		return usagef("%w", err)
	}
	l, err := listen(c.Context, c.String("listen"))
	if err != nil {
		return err
	}
	end, err := startMetrics(c, lines, server)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer end()
	return server.Run(c.Context, l, life)
}

// listen reads --listen, and begins to answer there.
func listen(ctx context.Context, address string) (net.Listener, error) {
	if _, _, err := net.SplitHostPort(address); err != nil {
		meant := ""
		if _, err := strconv.ParseUint(address, 10, 16); err == nil {
			meant = fmt.Sprintf("; did you mean :%s?", address)
		}
		return nil, usagef("--listen %s: must be HOST:PORT or :PORT%s", address, meant)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return nil, fmt.Errorf("--listen %s: %w", address, op.Err)
	}
	return l, err
}

// serveOptions reads the flags about what is served.
func serveOptions(c *cli.Context, out *report.Report, lines *report.ServerLog) (o serve.Options, err error) {
	if o.From, err = templates(c); err != nil {
		return o, err
	}
	cmd, err := begin(c, out)
	if err != nil {
		return o, err
	}
	o.Open = func(ref template.Reference) (repository.Reader, error) { return repository.Open(ref, cmd.repos) }
	o.Catalog = cmd.catalog
	if o.Providers, err = servedProviders(c); err != nil {
		return o, err
	}
	o.Ready = func(ctx context.Context) error { return catalog.Reachable(ctx, o.From, cmd.repos) }
	if o.Unannotated, err = unannotated(c); err != nil {
		return o, err
	}
	o.Store, o.Aliases, o.Events, o.Redirect = cmd.cache, cmd.aliases, lines.Events(), c.Bool("redirect")
	o.MaxAge, o.StaleIfError = c.Duration("tags-ttl"), c.Duration("stale-if-error")
	if o.Memory, err = commandline.ParseSize(c.String("memory")); err != nil {
		return o, usagef("--memory: %w", err)
	}
	if o.MaxAge <= 0 || o.StaleIfError <= 0 || o.Memory <= 0 {
		return o, usagef("--tags-ttl, --stale-if-error and --memory must be more than nothing")
	}
	if text := c.String("base-url"); text != "" {
		if o.BaseURL, err = url.Parse(text); err != nil {
			return o, usagef("--base-url: %w", err)
		}
	}
	for _, text := range c.StringSlice("trusted-proxy") {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			return o, usagef("--trusted-proxy %s: must be a network, such as 10.0.0.0/8 or 127.0.0.1/32", text)
		}
		o.TrustedProxies = append(o.TrustedProxies, network)
	}
	if signer, named, err := signerOf(c); err != nil {
		return o, err
	} else if named {
		o.Signer = signer
	}
	if o.PullThrough, err = pullThrough(c, cmd, o); err != nil {
		return o, err
	}
	err = accessOptions(c, cmd, lines, &o)
	return o, err
}

// unannotated reads --unannotated.
func unannotated(c *cli.Context) (svchost.Hostname, error) {
	text := c.String("unannotated")
	if text == "" {
		return "", nil
	}
	host, err := provider.ParseHost(text)
	if err != nil {
		return "", usagef("--unannotated: %w", err)
	}
	return host, nil
}

// servedProviders reads --providers: now, to find what is wrong with it, and whenever
// the server asks again.
func servedProviders(c *cli.Context) (func() ([]provider.Address, error), error) {
	if named, err := providersOf(c); named == nil || err != nil {
		return nil, err
	}
	return func() ([]provider.Address, error) { return providersOf(c) }, nil
}

// accessOptions reads the flags about who may read what.
func accessOptions(c *cli.Context, cmd *command, lines *report.ServerLog, o *serve.Options) (err error) {
	if path := c.String("serve-config"); c.IsSet("serve-config") { // an empty name must not disable the rules
		file, err := access.Open(path, access.Options{HTTP: cmd.http, Reloaded: lines.Reloaded})
		if err != nil {
			return usagef("--serve-config: %w", err)
		}
		o.Rules = file.Get
	}
	o.Key = access.NewArchiveKey()
	if path := c.String("archive-key"); path != "" {
		if o.Key, err = access.ReadArchiveKey(path); err != nil {
			return usagef("--archive-key: %w", err)
		}
	}
	const burst = 10 // seconds: init asks for some dozen documents at once
	o.Limiter = access.NewLimiter(c.Float64("rate"), int(c.Float64("rate")*burst))
	return nil
}

// serveLife reads the flags about how the server listens and ends.
func serveLife(c *cli.Context, lines *report.ServerLog) (life serve.ListenOptions, err error) {
	life = serve.ListenOptions{
		InsecureHTTP: c.Bool("insecure-http"), MaxConnections: c.Int("max-connections"), MaxPerAddress: c.Int("max-connections-per-address"), Grace: c.Duration("grace"),
		OnConnectionError: lines.Trouble,
	}
	life.OnListen = func(at net.Addr) { lines.Listening(at, life.TLS != nil) }
	certFile, keyFile := c.String("tls-cert"), c.String("tls-key")
	if (certFile == "") != (keyFile == "") {
		return life, usagef("--tls-cert and --tls-key need each other")
	}
	if certFile != "" {
		if life.TLS, err = serve.TLSConfig(certFile, keyFile, lines.Certificate); err != nil {
			return life, usagef("--tls-cert: %w", err)
		}
	}
	return life, nil
}

// templates reads --from.
func templates(c *cli.Context) ([]template.Template, error) {
	var all []template.Template
	for _, text := range c.StringSlice("from") {
		t, err := template.Parse(text)
		if err != nil {
			return nil, usagef("--from: %w", err)
		}
		all = append(all, t)
	}
	if len(all) == 0 {
		return nil, usagef("--from is missing: write the repository template, such as --from ghcr.io/acme/providers/{namespace}/{type} or --from oci-layout:mirror/{namespace}/{type}")
	}
	return all, nil
}
