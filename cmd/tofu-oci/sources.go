package main

import (
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/catalog"
	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// sourcesFlag is that of every command that works on many PROVIDERs.
func sourcesFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "sources", Usage: "also the PROVIDERs in `FILE`, one a line; # begins a comment, and - is stdin (repeatable)"}
}

// named reads the PROVIDERs among the arguments and those of --sources, in this order.
func named(c *cli.Context, args []string, out *report.Report) ([]provider.Requirement, error) {
	wanted, err := parseRequirements(args)
	if err != nil {
		return nil, err
	}
	seen := map[string]string{}
	for _, r := range wanted {
		seen[r.String()] = "on the command line"
	}
	names := c.StringSlice("sources")
	if first := slices.Index(names, catalog.Stdin); first >= 0 && slices.Contains(names[first+1:], catalog.Stdin) {
		return nil, usagef("--sources -: stdin can be read once")
	}
	for _, name := range names {
		listed, err := catalog.ReadSources(name, c.App.Reader)
		if err != nil {
			return nil, usagef("--sources: %w", err)
		}
		for _, s := range listed {
			if before, twice := seen[s.Requirement.String()]; twice {
				out.Note("%s: %s is named %s already", s.Place, s.Requirement, before)
				continue
			}
			seen[s.Requirement.String()] = "in " + s.Place
			wanted = append(wanted, s.Requirement)
		}
	}
	return wanted, nil
}
