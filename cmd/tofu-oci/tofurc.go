package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/pkg/cliconfig"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

func tofurcCommand() *cli.Command {
	return &cli.Command{
		Name:      "tofurc",
		Usage:     "print the provider_installation block that makes OpenTofu install from a repository",
		ArgsUsage: "REPO [PATTERN...]",
		Description: strings.TrimSpace(`
The block belongs into OpenTofu's CLI configuration (~/.tofurc, or the file that
TF_CLI_CONFIG_FILE names). Providers that a PATTERN matches come from the
repository, and only from there: OpenTofu asks every method for versions, and
fails on one that the mirror lacks, so "direct" excludes the same patterns.
A PATTERN is [HOST/]NAMESPACE/TYPE with * for trailing parts; the default is
every provider that the template can name.

Examples:
   tofu-oci tofurc ghcr.io/acme/providers/{namespace}/{type} >> ~/.tofurc
   tofu-oci tofurc registry.example.com/{hostname}/{namespace}/{type} '*/*/*'
   tofu-oci tofurc ghcr.io/acme/aws hashicorp/aws`),
		Action: tofurc,
	}
}

func tofurc(c *cli.Context) error {
	if !c.Args().Present() {
		return usagef("name the repository template, such as ghcr.io/acme/providers/{namespace}/{type}; see tofu-oci tofurc --help")
	}
	t, err := template.Parse(c.Args().First())
	if err != nil {
		return &usage{err}
	}
	var patterns []provider.Pattern
	for _, arg := range c.Args().Tail() {
		p, err := provider.ParsePattern(arg)
		if err != nil {
			return &usage{err}
		}
		patterns = append(patterns, p)
	}
	block, err := cliconfig.MirrorBlock(t, patterns)
	if err != nil {
		return &usage{err}
	}
	_, err = fmt.Fprint(c.App.Writer, block)
	return err
}
