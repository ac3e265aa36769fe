package main

import (
	"context"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/internal/serve/pullthrough"
	"github.com/tofu-oci/tofu-oci/pkg/mirror"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/serve"
	"github.com/tofu-oci/tofu-oci/pkg/template"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// pullThroughFlags returns the flags about releases that are mirrored on first request.
func pullThroughFlags() []cli.Flag {
	return slices.Concat([]cli.Flag{
		&cli.StringSliceFlag{Name: "pull-through", Category: commandline.GroupSelection, Usage: "`PATTERN`: mirror providers on request (repeatable)"},
		&cli.StringFlag{Name: "min-age", Category: commandline.GroupSelection, Usage: "mirror no versions younger than `DURATION`"},
	}, trustFlags())
}

// pullThrough parses the flags. It returns nil without --pull-through.
func pullThrough(c *cli.Context, cmd *command, served serve.Options) (*pullthrough.Options, error) {
	if !c.IsSet("pull-through") {
		return nil, nil
	}
	o := &pullthrough.Options{
		// Cached origin responses must not make the server's responses much older.
		Source:   cmd.originWithLifetime(served.MaxAge / 2),
		Open:     func(ref template.Reference) (repository.Repository, error) { return repository.Open(ref, cmd.repos) },
		Cooldown: mirror.Cooldown{MinAge: cmd.minAge},
		Publish:  publish.Options{Aliases: cmd.aliases, Verify: verifyOffered(cmd, served.From)},
	}
	if err := parseAll(c, "pull-through", &o.Patterns, provider.ParsePattern); err != nil {
		return nil, err
	}
	_, err := pullthrough.New(*o)
	return o, misuse(err)
}

// verifyOffered returns a function that verifies releases from origin registries. It
// reads earlier releases from the last repository of --from, to which new providers are
// mirrored.
func verifyOffered(cmd *command, from []template.Template) func(context.Context, provider.Release) (provider.Verdict, error) {
	return func(ctx context.Context, r provider.Release) (provider.Verdict, error) {
		p := cmd.policy
		p.History = &trust.SignerHistory{Source: cmd.ociSource(from[len(from)-1])} // a new source each time, because releases are added
		return p.VerifyOffered(ctx, r)
	}
}
