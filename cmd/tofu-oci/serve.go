package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/internal/metrics"
	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/internal/serve"
)

func serveCommand() *cli.Command {
	return newCommand("serve", serveAction, servedFlags(), pullThroughFlags(), listenFlags(), networkFlags(), outputFlags())
}

// servedFlags returns the flags that determine the served providers and who can read
// them.
func servedFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "from", Category: commandline.GroupSelection, Usage: "serve `REPO`"},
		&cli.StringSliceFlag{Name: "modules-from", Category: commandline.GroupSelection, Usage: "serve the modules of the template `REPO`"},
		sourcesFlag(),
		aliasFlag(),
		&cli.StringFlag{Name: "serve-config", Category: commandline.GroupServer, Usage: "read access rules, limits, and other settings from `FILE`"},
		signKeyFlag("sign unsigned releases with the key in `FILE`"),
		cacheFlag("cache archives in `DIR`"),
	}
}

// listenFlags returns the flags that determine how clients connect to the server.
func listenFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "listen", Category: commandline.GroupServer, Value: "127.0.0.1:8080", Usage: "listen on `ADDRESS`; to allow HTTP for other machines, use http://ADDRESS"},
		&cli.StringFlag{Name: "tls-cert", Category: commandline.GroupServer, Usage: "use the certificate chain in `FILE` (PEM)"},
		&cli.StringFlag{Name: "tls-key", Category: commandline.GroupServer, Usage: "use the private key in `FILE` (PEM)"},
		&cli.StringFlag{Name: "metrics-listen", Category: commandline.GroupServer, Usage: "serve /metrics, /healthz, and /readyz at `ADDRESS`"},
	}
}

func serveAction(cmd *command) error {
	log := report.NewServerLog(cmd.out)
	options, err := serveOptions(cmd, log)
	if err != nil {
		return err
	}
	listenConfig, err := listenOptions(cmd.c, log, limitsOf(options))
	if err != nil {
		return err
	}
	server, err := serve.New(options)
	if err != nil {
		return misuse(err)
	}
	l, err := listen(cmd.c.Context, strings.TrimPrefix(cmd.c.String("listen"), insecurePrefix))
	if err != nil {
		return err
	}
	closeMetrics, err := startMetrics(cmd.c, log, server)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer closeMetrics()
	return server.Run(cmd.c.Context, l, listenConfig)
}

// insecurePrefix precedes a --listen address that is allowed without TLS, even if other
// machines can reach it.
const insecurePrefix = "http://"

// listen listens on the --listen address.
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

// startMetrics serves the metrics and probes if --metrics-listen is set. Probes use
// this address, because they must work regardless of the number of connections to the
// main address.
func startMetrics(c *cli.Context, log *report.ServerLog, s *serve.Server) (closeServer func(), err error) {
	address := c.String("metrics-listen")
	if address == "" {
		return func() {}, nil
	}
	l, err := (&net.ListenConfig{}).Listen(c.Context, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--metrics-listen %s: %w", address, err)
	}
	log.Metrics(l.Addr())
	return metrics.Listen(c.Context, l, log.Handler(), s.Probes(), func(err error) { log.Trouble("metrics: " + err.Error()) }), nil
}
