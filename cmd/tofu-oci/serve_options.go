package main

import (
	"cmp"
	"context"
	"net"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/catalog"
	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/internal/outcome"
	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/internal/serve"
	"github.com/tofu-oci/tofu-oci/internal/serve/access"
	"github.com/tofu-oci/tofu-oci/internal/serve/pullthrough"
	"github.com/tofu-oci/tofu-oci/pkg/mirror"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/template"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// serveOptions parses the flags that determine the served content.
func serveOptions(cmd *command, log *report.ServerLog) (o serve.Options, err error) {
	if err := templateOptions(cmd.c, &o); err != nil {
		return o, err
	}
	if err := cmd.prepare(); err != nil {
		return o, err
	}
	if err := configOptions(cmd, log, &o); err != nil {
		return o, err
	}
	o.Open = cmd.open
	o.Catalog = cmd.repositoryNames
	if cmd.c.IsSet("sources") {
		o.Providers = cmd.servedProviders
		if _, err := o.Providers(); err != nil {
			return o, err
		}
	}
	probes := catalog.Probes(o.From, o.ModulesFrom)
	o.Ready = func(ctx context.Context) error { return catalog.Reachable(ctx, probes, cmd.repos) }
	o.Store, o.Aliases, o.Events = cmd.cache, cmd.aliases, log.Events()
	o.Approval, o.Signer = cmd.policy, cmd.signer
	o.PullThrough, err = pullThrough(cmd, o)
	return o, err
}

// servedProviders reads the --sources files. It is called again when they change.
func (cmd *command) servedProviders() (all []provider.Address, err error) {
	warn := func(err error) { cmd.out.Warn("--sources: %v", err) }
	for _, path := range cmd.c.StringSlice("sources") {
		listed, err := catalog.ReadFile(path, warn)
		if err != nil {
			return nil, flagError("sources", err)
		}
		all = append(all, listed...)
	}
	return all, nil
}

// templateOptions parses the flags that specify repositories.
func templateOptions(c *cli.Context, o *serve.Options) error {
	err := cmp.Or(
		parseAll(c, "from", &o.From, template.Parse),
		parseAll(c, "modules-from", &o.ModulesFrom, template.ParseModule),
	)
	switch {
	case err != nil:
		return err
	case len(o.From)+len(o.ModulesFrom) == 0:
		return missingTemplate("from")
	}
	return nil
}

// configOptions reads the --serve-config file.
func configOptions(cmd *command, log *report.ServerLog, o *serve.Options) error {
	var rules access.Rules
	if path := cmd.c.String("serve-config"); cmd.c.IsSet("serve-config") { // an empty name must not disable access control
		file, err := access.Open(path, access.Options{HTTP: cmd.http, Reloaded: log.Reloaded})
		if err != nil {
			return flagError("serve-config", err)
		}
		o.Rules, rules = file.Get, *file.Get()
	}
	limits, settings := rules.Limits, rules.Settings
	o.Key = access.NewArchiveKey()
	if path := settings.URLSigningKey; path != "" {
		var err error
		if o.Key, err = access.ReadArchiveKey(path); err != nil {
			return flagError("serve-config", err)
		}
	}
	const burst = 10 // in seconds; tofu init requests dozens of documents at once
	o.Limiter = access.NewLimiter(limits.RequestsPerSecond, int(limits.RequestsPerSecond*burst))
	o.MaxAge, o.StaleIfError, o.Memory = cmp.Or(limits.TagsTTL, serve.DefaultMaxAge), limits.StaleIfError, limits.MetadataCache
	o.Title, o.BaseURL, o.TrustedProxies, o.Unannotated = settings.Title, settings.BaseURL, settings.TrustedProxies, settings.DefaultHost
	o.OCIModules, o.Redirect = settings.OCIModules, settings.RedirectDownloads
	if paths := settings.SyncResults; len(paths) > 0 {
		o.SyncResult = func() (serve.SyncResult, error) { return outcome.Served(paths) }
	}
	return nil
}

// limitsOf returns the limits in the --serve-config file.
func limitsOf(o serve.Options) access.Limits {
	if o.Rules == nil {
		return access.Limits{}
	}
	return o.Rules().Limits
}

// listenOptions parses the flags for listening and shutting down.
func listenOptions(c *cli.Context, log *report.ServerLog, limits access.Limits) (o serve.ListenOptions, err error) {
	o = serve.ListenOptions{
		InsecureHTTP: strings.HasPrefix(c.String("listen"), insecurePrefix), MaxConnections: limits.Connections, MaxPerAddress: limits.ConnectionsPerAddress, Grace: limits.ShutdownTimeout,
		OnConnectionError: log.Trouble,
	}
	o.OnListen = func(address net.Addr) { log.Listening(address, o.TLS != nil) }
	certFile, keyFile := c.String("tls-cert"), c.String("tls-key")
	switch {
	case (certFile == "") != (keyFile == ""):
		return o, usagef("--tls-cert and --tls-key must be used together")
	case certFile != "" && o.InsecureHTTP:
		return o, usagef("--listen %s cannot be combined with --tls-cert: omit http:// to serve HTTPS", c.String("listen"))
	}
	if certFile != "" {
		o.TLS, err = serve.TLSConfig(certFile, keyFile, log.Certificate)
	}
	return o, flagError("tls-cert", err)
}

// pullThroughFlags returns the flags for releases that are mirrored on first request.
func pullThroughFlags() []cli.Flag {
	return slices.Concat([]cli.Flag{
		&cli.StringSliceFlag{Name: "pull-through", Category: commandline.GroupSelection, Usage: "mirror providers that match `PATTERN` on request"},
		&cli.StringSliceFlag{Name: "modules-pull-through", Category: commandline.GroupSelection, Usage: "mirror modules that match `PATTERN` on request"},
		&cli.StringFlag{Name: "min-age", Category: commandline.GroupSelection, Usage: "don't mirror versions younger than `DURATION`"},
		gateFlag(), attestationsFlag(), sbomFlag(),
	}, trustFlags())
}

// pullThrough parses the flags. It returns nil without --pull-through and
// --modules-pull-through.
func pullThrough(cmd *command, served serve.Options) (*pullthrough.Options, error) {
	if !cmd.c.IsSet("pull-through") && !cmd.c.IsSet("modules-pull-through") {
		return nil, nil
	}
	// Caching origin responses must not make the server's responses much older than
	// MaxAge.
	lifetime := served.MaxAge / 2
	modules := cmd.moduleOrigin(lifetime)
	o := &pullthrough.Options{
		Source: cmd.originWithLifetime(lifetime), ModuleSource: modules, MirrorModule: cmd.moduleMirrorOptions().PublishFunc(modules),
		Open:     cmd.openTarget,
		Cooldown: mirror.Cooldown{MinAge: cmd.minAge},
		Publish: publish.Options{
			Aliases: cmd.aliases, Gates: cmd.gates.Option(), Verify: verifyOffered(cmd, served.From),
			Attestations: cmd.publishing.Attestations, AutoSBOM: cmd.publishing.AutoSBOM, SBOM: cmd.publishing.SBOM,
		},
	}
	err := cmp.Or(
		parseAll(cmd.c, "pull-through", &o.Patterns, provider.ParsePattern),
		parseAll(cmd.c, "modules-pull-through", &o.Modules, provider.ParseModulePattern),
	)
	if err != nil {
		return nil, err
	}
	_, err = pullthrough.New(*o)
	return o, misuse(err)
}

// verifyOffered returns a function that verifies releases from origin registries. It
// reads earlier releases from the last --from repository, to which new providers are
// mirrored.
func verifyOffered(cmd *command, from []template.Template) func(context.Context, provider.Release) (provider.Verdict, error) {
	return func(ctx context.Context, r provider.Release) (provider.Verdict, error) {
		p := cmd.policy
		p.History = &trust.SignerHistory{Source: cmd.ociSource(from[len(from)-1])} // a new source each time, because a source caches the releases
		return p.VerifyOffered(ctx, r)
	}
}
