package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/internal/doctor"
	"github.com/tofu-oci/tofu-oci/internal/explain"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

func tofurcCommand() *cli.Command {
	return &cli.Command{
		Name:      "tofurc",
		Usage:     "print, write, or validate OpenTofu's CLI configuration for a repository",
		ArgsUsage: "REPO [PATTERN...] [--write FILE] | --validate FILE",
		Description: strings.TrimSpace(`
The provider_installation block belongs in ~/.tofurc or in the file of TF_CLI_CONFIG_FILE.

PATTERN is [HOST/]NAMESPACE/TYPE with * for trailing parts; the default is all providers
of the template. Matching providers are installed only from the repository. If --write
can't merge the block into FILE, the exit code is 4 and the block is printed.

Details: ` + docs + `concepts.md

Examples:
   tofu-oci tofurc ghcr.io/acme/providers/{namespace}/{type}
   tofu-oci tofurc ghcr.io/acme/providers/{namespace}/{type} --write ~/.tofurc
   tofu-oci tofurc registry.example.com/{hostname}/{namespace}/{type} '*/*/*'
   tofu-oci tofurc ghcr.io/acme/aws hashicorp/aws
   tofu-oci tofurc --validate ~/.tofurc`),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "write", Category: commandline.GroupOperation, Usage: "add the block to `FILE`"},
			dryRunFlag("with --write: print the changes, and write nothing"),
			&cli.StringFlag{Name: "validate", Category: commandline.GroupOperation, Usage: "validate the CLI configuration in `FILE`"},
			outputFlag("with --validate: output `FORMAT`, text or json"),
		},
		Action: func(c *cli.Context) error {
			if !c.IsSet("validate") {
				return tofurcAction(c)
			}
			return withReport(validateTofurc)(c)
		},
	}
}

// validateTofurc validates a CLI configuration.
func validateTofurc(c *cli.Context, out *report.Report) error {
	if c.Args().Present() || c.String("validate") == "" || c.IsSet("write") {
		return usagef("--validate requires a FILE and cannot be combined with other arguments; see tofu-oci tofurc --help")
	}
	files, config, err := readConfiguration(c.String("validate"))
	findings, malformed := doctor.CheckSyntax(err)
	switch {
	case err != nil && !malformed:
		return err
	case err == nil:
		findings = doctor.CheckConfig(config, files)
	}
	return out.ConfigurationFindings(c.String("validate"), findings)
}

// tofurcAction prints the block or writes it to a file.
func tofurcAction(c *cli.Context) error {
	if !c.Args().Present() {
		return usagef("missing REPO: specify a repository template, such as ghcr.io/acme/providers/{namespace}/{type}; see tofu-oci tofurc --help")
	}
	t, err := template.Parse(c.Args().First())
	if err != nil {
		return usagef("%w", err)
	}
	if t.IsLayout() {
		return layoutError(t)
	}
	var patterns []provider.Pattern
	for _, arg := range c.Args().Tail() {
		p, err := provider.ParsePattern(arg)
		if err != nil {
			return usagef("%w", err)
		}
		patterns = append(patterns, p)
	}
	if c.IsSet("write") {
		return writeTofurc(c, t, patterns)
	}
	block, err := cliconfig.MirrorBlock(t, patterns)
	if err != nil {
		return usagef("%w", err)
	}
	if _, err = fmt.Fprint(c.App.Writer, block); err != nil {
		return err
	}
	// OpenTofu 1.13 expects an RFC 6570 template, whose variables have no $.
	_, err = fmt.Fprintf(c.App.ErrWriter, "note: tofu providers lock of OpenTofu 1.13 and later doesn't read this block; run it with -oci-mirror=%s\n",
		text.Quote(strings.ReplaceAll(t.HCL(), "${", "{")))
	return err
}

// layoutError returns the error for a template of image layouts.
func layoutError(t template.Template) error {
	return explain.WithHint(usagef("OpenTofu cannot install providers from %s: it supports only registries", t.Redacted()), fmt.Sprintf(
		"copy the releases to a registry: tofu-oci copy PROVIDER --all --from '%[1]s' --to REPO; or create a filesystem_mirror: tofu-oci pull PROVIDER --layout packed --from '%[1]s' --dir DIRECTORY", t.Redacted()))
}
