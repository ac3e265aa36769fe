package main

import (
	"fmt"
	"net/http"
	"os"
	"time"

	svchost "github.com/hashicorp/terraform-svchost"
	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/ocirepo"
	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/cliconfig"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/source"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// networkFlags are those of every command that may reach a registry.
func networkFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "config", Usage: "OpenTofu CLI configuration `FILE` whose host blocks say where origin registries are"},
		&cli.StringFlag{Name: "ca-file", Usage: "`FILE` of PEM certificates to trust beside the system's"},
		&cli.StringSliceFlag{Name: "plain-http", Usage: "speak http to the OCI registry `HOST[:PORT]` (repeatable)"},
		&cli.DurationFlag{Name: "timeout", Value: httpclient.DefaultTimeout, Usage: "give a connection up after `DURATION` of silence"},
	}
}

// transferFlags are those of every command that moves zips.
func transferFlags() []cli.Flag {
	return []cli.Flag{
		&cli.IntFlag{Name: "concurrency", Value: publish.DefaultConcurrency, Usage: "transfer `N` zips at once"},
	}
}

// connection is what commands reach origin registries and repositories with.
type connection struct {
	http   *http.Client
	repos  ocirepo.Options
	config cliconfig.Config
}

func connect(c *cli.Context, out *output) (*connection, error) {
	if d := c.Duration("timeout"); d < time.Second {
		return nil, usagef("--timeout %s: must be at least 1s", d)
	}
	conn := &connection{}
	var err error
	if file := c.String("config"); file != "" {
		if conn.config, err = cliconfig.Load(file); err != nil {
			return nil, usagef("--config: %w", err)
		}
	}
	conn.http, err = httpclient.New(httpclient.Options{
		Timeout: c.Duration("timeout"), CAFile: c.String("ca-file"), UserAgent: "tofu-oci/" + version, Retried: out.retried,
	})
	if err != nil {
		return nil, usagef("--ca-file: %w", err)
	}
	logins, err := ocirepo.DockerCredentials()
	if err != nil {
		return nil, fmt.Errorf("reading logins: %w", err)
	}
	conn.repos = ocirepo.Options{HTTP: conn.http, PlainHTTP: c.StringSlice("plain-http"), Credential: logins, Retrier: transfer.Retrier{Progress: out.progress()}}
	return conn, nil
}

// origin is the source of releases at their origin registries.
func (conn *connection) origin() *source.Registry {
	services := map[svchost.Hostname]string{}
	for host, offered := range conn.config.Services {
		if url := offered["providers.v1"]; url != "" {
			services[host] = url
		}
	}
	return source.NewRegistry(source.RegistryOptions{HTTP: conn.http, Services: services, Token: source.TokenFromEnv(os.Environ())})
}

// mirrored is the source of releases in the repositories of a template.
func (conn *connection) mirrored(t template.Template) *source.OCI {
	return source.NewOCI(func(a provider.Address) (source.Repository, error) {
		return conn.repository(t, a)
	})
}

func (conn *connection) repository(t template.Template, a provider.Address) (ocirepo.Repository, error) {
	ref, err := t.Repository(a)
	if err != nil {
		return nil, err
	}
	return ocirepo.Open(ref, conn.repos)
}
