package main

import (
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// requirements reads the PROVIDERs, of which there has to be one.
func requirements(c *cli.Context, out *report.Report) ([]provider.Requirement, error) {
	if !namesProviders(c) {
		or := ""
		switch listed := commandline.FlagNamed(c.Command, "sources") != nil; {
		case listed && commandline.FlagNamed(c.Command, "lock-file") != nil:
			or = ", --sources FILE or --lock-file FILE"
		case listed:
			or = ", or --sources FILE"
		}
		return nil, usagef("name at least one PROVIDER, such as hashicorp/null%s; see tofu-oci %s --help", or, c.Command.Name)
	}
	return named(c, c.Args().Slice(), out)
}

func parseRequirements(args []string) ([]provider.Requirement, error) {
	var wanted []provider.Requirement
	for _, arg := range args {
		r, err := provider.ParseRequirement(arg)
		if err != nil {
			return nil, usagef("%w", err)
		}
		wanted = append(wanted, r)
	}
	return wanted, nil
}

// repositoryTemplate reads --to or --from.
func repositoryTemplate(c *cli.Context, flag string) (template.Template, error) {
	text := c.String(flag)
	if text == "" {
		return template.Template{}, usagef("--%s is missing: write the repository template, such as --%s ghcr.io/acme/providers/{namespace}/{type} or --%s oci-layout:mirror/{namespace}/{type}", flag, flag, flag)
	}
	t, err := template.Parse(text)
	if err != nil {
		return t, usagef("--%s: %w", flag, err)
	}
	return t, nil
}

// platforms reads --platform.
func platforms(c *cli.Context) ([]provider.Platform, error) {
	var ps []provider.Platform
	for _, text := range c.StringSlice("platform") {
		for one := range strings.SplitSeq(text, ",") {
			p, err := parsePlatform(strings.TrimSpace(one))
			if err != nil {
				return nil, err
			}
			ps = append(ps, p)
		}
	}
	return provider.SortPlatforms(ps), nil
}

// parsePlatform reads OS_ARCH, and OS/ARCH as container tools write it.
func parsePlatform(s string) (provider.Platform, error) {
	p, err := provider.ParsePlatform(strings.Replace(s, "/", "_", 1))
	if system, arch, ok := text.Platform(s); ok && (err != nil || system != p.OS || strings.Contains(p.Arch, "_")) {
		return p, usagef("--platform %s: must be OS_ARCH as OpenTofu names it; did you mean %s_%s?", s, system, arch)
	}
	if err != nil {
		return p, usagef("--platform: %w", err)
	}
	return p, nil
}

// newestOf reads --all and --latest: how many versions a PROVIDER means, 0 for all.
func newestOf(c *cli.Context, otherwise int) (int, error) {
	switch {
	case c.Bool("all"):
		return 0, nil
	case !c.IsSet("latest"):
		return otherwise, nil
	case c.Int("latest") < 1:
		return 0, usagef("--latest %d: must be at least 1", c.Int("latest"))
	}
	return c.Int("latest"), nil
}

// aliasFlag is that of every command that looks at whose release an artifact is.
func aliasFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "alias", Usage: "let releases that are stored as one provider stand for another that is asked for: `REQUESTED=STORED`, addresses or patterns of one type (repeatable)"}
}

// aliases reads --alias.
func aliases(c *cli.Context) (provider.Aliases, error) {
	var all provider.Aliases
	for _, text := range c.StringSlice("alias") {
		alias, err := provider.ParseAlias(text)
		if err != nil {
			return nil, usagef("--alias: %w", err)
		}
		all = append(all, alias)
	}
	return all, nil
}

// minAgeFlag returns the flag of all commands that choose versions by themselves.
func minAgeFlag() cli.Flag {
	return &cli.StringFlag{
		Name:  "min-age",
		Usage: "hold back versions that were published less than `DURATION` ago, such as 72h or 3d, by their origin's date; what is named exactly or locked passes",
	}
}

// minAge reads --min-age; 0 where it is not given.
func minAge(c *cli.Context) (time.Duration, error) {
	text := c.String("min-age")
	if text == "" {
		return 0, nil
	}
	d, err := commandline.ParseAge(text)
	if err != nil {
		return 0, usagef("--min-age: %w", err)
	}
	return d, nil
}
