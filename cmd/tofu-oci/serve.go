package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"

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

func serveCommand() *cli.Command {
	return &cli.Command{
		Name:      "serve",
		Usage:     "serve providers from OCI repositories to clients without OCI support",
		ArgsUsage: "--from REPO... [--listen ADDRESS] [FLAG...]",
		Description: `Implements the provider network mirror protocol at /mirror/, the provider registry protocol,
and an API at /api/v1/. The server is stateless, so you can run any number of replicas.

Details: ` + docs + `serve.md and serve-access.md

Examples:
   # the providers on removable media, for this machine
   tofu-oci serve --from oci-layout:/media/usb/{namespace}/{type}

   # a company's own and mirrored providers
   tofu-oci serve --listen :443 --tls-cert tls.crt --tls-key tls.key \
      --from ghcr.io/acme/own/{namespace}/{type} \
      --from ghcr.io/acme/mirror/{namespace}/{type}

   # releases of hashicorp, mirrored on first request, from three days after publication
   tofu-oci serve --listen :443 --tls-cert tls.crt --tls-key tls.key --min-age 72h \
      --from ghcr.io/acme/mirror/{namespace}/{type} --pull-through 'hashicorp/*'`,
		Flags:  slices.Concat(servedFlags(), pullThroughFlags(), listenFlags(), networkFlags(), outputFlags()),
		Action: withReport(serveAction),
	}
}

// servedFlags returns the flags that determine the served providers and who can read
// them.
func servedFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "from", Category: commandline.GroupSelection, Usage: "`REPO`: repositories, in order of precedence (repeatable)"},
		providersFlag(),
		aliasFlag(),
		&cli.StringFlag{Name: "unannotated", Category: commandline.GroupSelection, Usage: "`HOST` of releases without a provider annotation"},
		&cli.StringFlag{Name: "serve-config", Category: commandline.GroupAccess, Usage: "`FILE`: access rules and published hosts"},
		&cli.StringFlag{Name: "archive-key", Category: commandline.GroupAccess, Usage: "`FILE`: key for archive URLs (default: random)"},
		&cli.Float64Flag{Name: "rate", Category: commandline.GroupAccess, Usage: "limit each client to `N` requests per second"},
		signKeyFlag("sign unsigned releases with the key in `FILE`"),
		passphraseFlag(),
		cacheFlag("cache archives in `DIR`"),
		&cli.DurationFlag{Name: "tags-ttl", Category: commandline.GroupTransfer, Value: serve.DefaultMaxAge, Usage: "cache lists of tags for `DURATION`"},
		&cli.DurationFlag{Name: "stale-if-error", Category: commandline.GroupTransfer, Value: serve.DefaultStaleIfError, Usage: "`DURATION`: serve stale data on errors"},
		&cli.StringFlag{Name: "memory", Category: commandline.GroupTransfer, Value: "32MiB", Usage: "`SIZE`: memory for metadata"},
		&cli.BoolFlag{Name: "redirect", Category: commandline.GroupTransfer, Usage: "redirect downloads to the registry's storage"},
	}
}

// listenFlags returns the flags that determine how clients connect to the server.
func listenFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "listen", Category: commandline.GroupServer, Value: "127.0.0.1:8080", Usage: "`ADDRESS`: HOST:PORT or :PORT"},
		&cli.StringFlag{Name: "tls-cert", Category: commandline.GroupServer, Usage: "`FILE`: certificate chain (PEM)"},
		&cli.StringFlag{Name: "tls-key", Category: commandline.GroupServer, Usage: "`FILE`: private key (PEM)"},
		&cli.BoolFlag{Name: "insecure-http", Category: commandline.GroupServer, Usage: "allow HTTP on non-loopback addresses"},
		&cli.StringFlag{Name: "base-url", Category: commandline.GroupServer, Usage: "public `URL` of the server"},
		&cli.StringSliceFlag{Name: "trusted-proxy", Category: commandline.GroupServer, Usage: "trust X-Forwarded headers from `NETWORK` (repeatable)"},
		&cli.IntFlag{Name: "max-connections", Category: commandline.GroupServer, Value: serve.DefaultMaxConnections, Usage: "`N`: maximum number of connections"},
		&cli.IntFlag{Name: "max-connections-per-address", Category: commandline.GroupServer, Usage: "`N`: limit per client (default: 3/4 of the maximum)"},
		&cli.StringFlag{Name: "metrics-listen", Category: commandline.GroupServer, Usage: "serve /metrics, /healthz, and /readyz at `ADDRESS`"},
		&cli.DurationFlag{Name: "grace", Category: commandline.GroupServer, Value: serve.DefaultGrace, Usage: "`DURATION`: wait for downloads on exit"},
	}
}

func serveAction(c *cli.Context, out *report.Report) error {
	if c.Args().Present() {
		return usagef("unexpected argument %q; see tofu-oci serve --help", c.Args().First())
	}
	log := report.NewServerLog(out)
	options, err := serveOptions(c, out, log)
	if err != nil {
		return err
	}
	listenConfig, err := listenOptions(c, log)
	if err != nil {
		return err
	}
	server, err := serve.New(options)
	if err != nil {
		return misuse(err)
	}
	l, err := listen(c.Context, c.String("listen"))
	if err != nil {
		return err
	}
	closeMetrics, err := startMetrics(c, log, server)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer closeMetrics()
	return server.Run(c.Context, l, listenConfig)
}

// listen listens on the address of --listen.
func listen(ctx context.Context, address string) (net.Listener, error) {
	if _, _, err := net.SplitHostPort(address); err != nil {
		suggestion := ""
		if _, err := strconv.ParseUint(address, 10, 16); err == nil {
			suggestion = fmt.Sprintf("; did you mean :%s?", address)
		}
		return nil, usagef("invalid --listen %q: want HOST:PORT or :PORT%s", address, suggestion)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return nil, fmt.Errorf("--listen %s: %w", address, op.Err)
	}
	return l, err
}

// serveOptions parses the flags about what the server provides.
func serveOptions(c *cli.Context, out *report.Report, log *report.ServerLog) (o serve.Options, err error) {
	if err := parseAll(c, "from", &o.From, template.Parse); err != nil {
		return o, err
	}
	if len(o.From) == 0 {
		return o, missingTemplate("from")
	}
	cmd, err := newCommand(c, out)
	if err != nil {
		return o, err
	}
	o.Open = func(ref template.Reference) (repository.Reader, error) { return repository.Open(ref, cmd.repos) }
	o.Catalog = cmd.repositoryNames
	if o.Providers, err = servedProviders(c); err != nil {
		return o, err
	}
	o.Ready = func(ctx context.Context) error { return catalog.Reachable(ctx, o.From, cmd.repos) }
	o.Store, o.Aliases, o.Events, o.Redirect = cmd.cache, cmd.aliases, log.Events(), c.Bool("redirect")
	o.MaxAge, o.StaleIfError = c.Duration("tags-ttl"), c.Duration("stale-if-error")
	err = cmp.Or(
		parseSet(c, "unannotated", &o.Unannotated, provider.ParseHost),
		parse(c, "memory", &o.Memory, commandline.ParseSize),
		parseSet(c, "base-url", &o.BaseURL, url.Parse),
	)
	if err != nil {
		return o, err
	}
	if o.MaxAge <= 0 || o.StaleIfError <= 0 || o.Memory <= 0 {
		return o, usagef("invalid --tags-ttl, --stale-if-error, or --memory: want a positive value")
	}
	for _, text := range c.StringSlice("trusted-proxy") {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			return o, usagef("invalid --trusted-proxy %q: want a network, such as 10.0.0.0/8 or 127.0.0.1/32", text)
		}
		o.TrustedProxies = append(o.TrustedProxies, network)
	}
	if signer, found, err := readSigner(c); err != nil {
		return o, err
	} else if found {
		o.Signer = signer
	}
	if o.PullThrough, err = pullThrough(c, cmd, o); err != nil {
		return o, err
	}
	err = accessOptions(c, cmd, log, &o)
	return o, err
}

// servedProviders returns a function that reads the file of --providers. Without the
// flag, it returns nil. It reads the file once to report errors.
func servedProviders(c *cli.Context) (func() ([]provider.Address, error), error) {
	if known, err := readProviders(c); known == nil || err != nil {
		return nil, err
	}
	return func() ([]provider.Address, error) { return readProviders(c) }, nil
}

// accessOptions parses the flags about access control.
func accessOptions(c *cli.Context, cmd *command, log *report.ServerLog, o *serve.Options) (err error) {
	if path := c.String("serve-config"); c.IsSet("serve-config") { // an empty name must not disable access control
		file, err := access.Open(path, access.Options{HTTP: cmd.http, Reloaded: log.Reloaded})
		if err != nil {
			return flagError("serve-config", err)
		}
		o.Rules = file.Get
	}
	o.Key = access.NewArchiveKey()
	if err := parseSet(c, "archive-key", &o.Key, access.ReadArchiveKey); err != nil {
		return err
	}
	const burst = 10 // in seconds, because init requests dozens of documents at once
	o.Limiter = access.NewLimiter(c.Float64("rate"), int(c.Float64("rate")*burst))
	return nil
}

// listenOptions parses the flags about how the server listens and shuts down.
func listenOptions(c *cli.Context, log *report.ServerLog) (o serve.ListenOptions, err error) {
	o = serve.ListenOptions{
		InsecureHTTP: c.Bool("insecure-http"), MaxConnections: c.Int("max-connections"), MaxPerAddress: c.Int("max-connections-per-address"), Grace: c.Duration("grace"),
		OnConnectionError: log.Trouble,
	}
	o.OnListen = func(address net.Addr) { log.Listening(address, o.TLS != nil) }
	certFile, keyFile := c.String("tls-cert"), c.String("tls-key")
	if (certFile == "") != (keyFile == "") {
		return o, usagef("--tls-cert and --tls-key must be used together")
	}
	if certFile != "" {
		o.TLS, err = serve.TLSConfig(certFile, keyFile, log.Certificate)
	}
	return o, flagError("tls-cert", err)
}
