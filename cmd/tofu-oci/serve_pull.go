package main

import (
	"context"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/serve/pullthrough"
	"github.com/tofu-oci/tofu-oci/pkg/mirror"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/serve"
	"github.com/tofu-oci/tofu-oci/pkg/template"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// pullThroughFlags are about what comes from origins when it is asked for.
func pullThroughFlags() []cli.Flag {
	return slices.Concat([]cli.Flag{
		&cli.StringSliceFlag{Name: "pull-through", Usage: "bring releases of providers that `PATTERN` matches from their origins when somebody asks for them, such as 'hashicorp/*' or registry.example.com/*/* (repeatable; default: none)"},
		&cli.StringFlag{Name: "min-age", Usage: "bring nothing that was published less than `DURATION` ago, such as 72h or 3d, by its origin's date, or without one"},
	}, trustFlags())
}

// pullThrough reads them; nil is what brings nothing.
func pullThrough(c *cli.Context, cmd *command, served serve.Options) (*pullthrough.Options, error) {
	if !c.IsSet("pull-through") {
		return nil, nil
	}
	o := &pullthrough.Options{
		// What it keeps beside what the server keeps must not make answers much older.
		Source:   cmd.originFor(served.MaxAge / 2),
		Open:     func(ref template.Reference) (repository.Repository, error) { return repository.Open(ref, cmd.repos) },
		Cooldown: mirror.Cooldown{MinAge: cmd.minAge},
		Publish:  publish.Options{Aliases: cmd.aliases, Verify: judgeOffered(cmd, served.From)},
	}
	for _, text := range c.StringSlice("pull-through") {
		pattern, err := provider.ParsePattern(text)
		if err != nil {
			return nil, usagef("--pull-through: %w", err)
		}
		o.Patterns = append(o.Patterns, pattern)
	}
	if _, err := pullthrough.New(*o); err != nil {
		return nil, usagef("%w", err)
	}
	return o, nil
}

// judgeOffered judges what origins offer. The releases that were let pass before lie
// where those go that lie nowhere.
func judgeOffered(cmd *command, from []template.Template) func(context.Context, provider.Release) (provider.Verdict, error) {
	return func(ctx context.Context, r provider.Release) (provider.Verdict, error) {
		p := cmd.judging
		p.History = &trust.SignerHistory{Source: cmd.mirrored(from[len(from)-1])} // each time, since there are more and more of them
		return p.VerifyOffered(ctx, r)
	}
}
