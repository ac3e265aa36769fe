package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// warnGone says which patterns of the block that is replaced no mirror has any more.
func warnGone(c *cli.Context, f tofurcFile, after []byte) error {
	was, is := mirroredIn(f.name, f.Text), mirroredIn(f.name, after)
	var gone []string
	for _, p := range was {
		if !slices.ContainsFunc(is, func(now provider.Pattern) bool { return covers(now, p) }) {
			gone = append(gone, p.String())
		}
	}
	if len(gone) == 0 {
		return nil
	}
	_, err := io.WriteString(c.App.ErrWriter, report.Printable(fmt.Sprintf(
		"warning: %s: the block that is replaced had %s, and the new one has not: these providers come from their origin now; name all patterns in one command, or write an oci_mirror block for each repository by hand\n",
		f.name, strings.Join(gone, ", "))))
	return err
}

// mirroredIn gives the patterns that the mirrors of a configuration have; none where it
// is not one.
func mirroredIn(name string, text []byte) (all []provider.Pattern) {
	config, err := cliconfig.Parse(name, text)
	if err != nil || config.Installation == nil {
		return nil
	}
	for _, m := range config.Installation.Methods {
		if m.Kind == cliconfig.OCIMirror {
			all = append(all, m.Include...)
		}
	}
	return all
}

// covers tells whether a pattern is for all that another one is for.
func covers(wide, narrow provider.Pattern) bool {
	parts := strings.Split(narrow.String(), "/")
	return slices.EqualFunc(strings.Split(wide.String(), "/"), parts, func(w, n string) bool { return w == "*" || w == n })
}
