package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

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
		Usage:     "print the provider_installation block that makes OpenTofu install from a repository",
		ArgsUsage: "REPO [PATTERN...] [--write FILE] | --validate FILE",
		Description: strings.TrimSpace(`
The block belongs into OpenTofu's CLI configuration (~/.tofurc, or the file that
TF_CLI_CONFIG_FILE names). Providers that a PATTERN matches come from the
repository, and only from there: OpenTofu asks every method for versions, and
fails on one that the mirror lacks, so "direct" excludes the same patterns.
A PATTERN is [HOST/]NAMESPACE/TYPE with * for trailing parts; the default is
every provider that the template can name. A note on stderr shows the template in the
form that tofu providers lock expects from OpenTofu 1.13 on: -oci-mirror=TEMPLATE.

With --write the block is put into FILE, and what changes is shown. All else in it
stays as it is, comments too; a block that tofurc wrote before is replaced. Where
FILE has a provider_installation block of somebody else's, or is in JSON syntax,
nothing is written: the block to put there by hand is printed, and the exit code
is 4.

With --validate a configuration is read and judged instead, without any network:
the findings are those of doctor, and the exit code is 1 when one is an error.

Examples:
   tofu-oci tofurc ghcr.io/acme/providers/{namespace}/{type}
   tofu-oci tofurc ghcr.io/acme/providers/{namespace}/{type} --write ~/.tofurc
   tofu-oci tofurc registry.example.com/{hostname}/{namespace}/{type} '*/*/*'
   tofu-oci tofurc ghcr.io/acme/aws hashicorp/aws
   tofu-oci tofurc --validate ~/.tofurc`),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "write", Usage: "put the block into the CLI configuration `FILE`, which need not be there yet"},
			&cli.BoolFlag{Name: "dry-run", Usage: "with --write: show what would change, and write nothing"},
			&cli.StringFlag{Name: "validate", Usage: "judge the CLI configuration `FILE` instead"},
			outputFlag("`FORMAT` of what --validate finds: text or json"),
		},
		Action: func(c *cli.Context) error {
			if !c.IsSet("validate") {
				return tofurc(c)
			}
			return printing(checkTofurc)(c)
		},
	}
}

// checkTofurc judges a configuration.
func checkTofurc(c *cli.Context, out *report.Report) error {
	if c.Args().Present() || c.String("validate") == "" || c.IsSet("write") {
		return usagef("tofurc --validate takes a FILE, and no other arguments; see tofu-oci tofurc --help")
	}
	files, config, err := readConfiguration(c.String("validate"))
	findings, malformed := doctor.CheckSyntax(err)
	switch {
	case err != nil && !malformed:
		return err
	case err == nil:
		findings = doctor.CheckConfig(config, files)
	}
	return out.ConfigurationFindings(c.String("check"), findings)
}

func tofurc(c *cli.Context) error {
	if !c.Args().Present() {
		return usagef("name the repository template, such as ghcr.io/acme/providers/{namespace}/{type}; see tofu-oci tofurc --help")
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
	_, err = fmt.Fprintf(c.App.ErrWriter, "note: tofu providers lock, from OpenTofu 1.13, doesn't read this block; run it with -oci-mirror=%s\n",
		text.Quote(strings.ReplaceAll(t.HCL(), "${", "{")))
	return err
}

// layoutError says that OpenTofu can't install from image layouts.
func layoutError(t template.Template) error {
	return explain.WithHint(usagef("OpenTofu installs from registries only, not from %s", t.Redacted()), fmt.Sprintf(
		"copy what is there into a registry: tofu-oci copy PROVIDER --all --from '%[1]s' --to REPO; or make a filesystem_mirror of it: tofu-oci pull PROVIDER --layout packed --from '%[1]s' --dir DIRECTORY", t.Redacted()))
}
