package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/internal/explain"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

func tofurcCommand() *cli.Command {
	return newCommand("tofurc", tofurcAction, []cli.Flag{
		&cli.StringFlag{Name: "write", Category: commandline.GroupOperation, Usage: "add the blocks to `FILE`"},
		&cli.StringSliceFlag{Name: "modules-server", Category: commandline.GroupOperation, Usage: "`[HOST=]URL`: redirect HOST's modules to the server at URL (default HOST: registry.opentofu.org)"},
		dryRunFlag("with --write: print the changes, but write nothing"),
	})
}

// tofurcAction prints the blocks or writes them to a file.
func tofurcAction(cmd *command) error {
	c := cmd.c
	blocks, err := tofurcBlocks(c)
	if err != nil {
		return err
	}
	for _, b := range blocks.Hosts {
		if !b.HasProviders() {
			cmd.out.Note("the block replaces all services of %s; if the host has a provider registry, add the URL of its service providers.v1 to the block", b.Host)
		}
	}
	if c.IsSet("write") {
		return writeTofurc(cmd, blocks)
	}
	printed, err := blocks.Text()
	if err != nil {
		return misuse(err)
	}
	if _, err = io.WriteString(c.App.Writer, printed); err != nil || blocks.Template == nil {
		return err
	}
	// OpenTofu 1.13 expects an RFC 6570 template, whose variables have no $.
	cmd.out.Note("note: tofu providers lock in OpenTofu 1.13 and later doesn't read this block; run it with -oci-mirror=%s",
		text.Quote(strings.ReplaceAll(blocks.Template.HCL(), "${", "{")))
	return nil
}

// tofurcBlocks parses the command line.
func tofurcBlocks(c *cli.Context) (b cliconfig.Blocks, err error) {
	b.Hosts, err = cliconfig.HostBlocks(c.StringSlice("modules-server"))
	switch {
	case err != nil:
		return b, misuse(err)
	case !c.Args().Present() && len(b.Hosts) == 0:
		return b, usagef("missing REPO: specify a repository template, such as ghcr.io/acme/providers/{namespace}/{type}; see tofu-oci tofurc --help")
	case !c.Args().Present():
		return b, nil
	}
	t, err := template.Parse(c.Args().First())
	if err != nil {
		return b, misuse(err)
	}
	if t.IsLayout() {
		return b, layoutError(t)
	}
	b.Template = &t
	err = misuse(parseEach(c.Args().Tail(), &b.Patterns, provider.ParsePattern))
	return b, err
}

// layoutError returns the error for a template of image layouts.
func layoutError(t template.Template) error {
	return explain.WithHint(usagef("OpenTofu cannot install providers from %s: OpenTofu supports only registries, not image layouts", t.Redacted()), fmt.Sprintf(
		"copy the releases to a registry: tofu-oci copy PROVIDER --all --from '%[1]s' --to REPO; or create a filesystem_mirror: tofu-oci pull PROVIDER --layout packed --from '%[1]s' --dir DIRECTORY", t.Redacted()))
}

// maxTofurc limits the size of a configuration file in bytes.
const maxTofurc = 256 << 10

// writeTofurc writes the blocks to the --write file and prints the changes.
func writeTofurc(cmd *command, blocks cliconfig.Blocks) error {
	// 1. Read the file.
	name, environment := cmd.c.String("write"), cliconfig.SystemEnvironment()
	before, err := atomicfile.ReadUserFile(name, maxTofurc)
	if err != nil {
		return flagError("write", err)
	}
	// 2. Merge the blocks. If merging fails, print the block, so that the user can add
	// it.
	after, err := blocks.MergeFile(environment, name, before.Place, before.Text)
	if conflict, ok := errors.AsType[*cliconfig.MergeError](err); ok {
		_, failed := io.WriteString(cmd.c.App.Writer, report.Printable(conflict.Block))
		return errors.Join(err, failed)
	}
	if err != nil {
		return misuse(err)
	}
	if _, err := io.WriteString(cmd.c.App.Writer, report.Printable(tofurcDiff(name, before.Text, after))); err != nil {
		return err
	}
	if removed := cliconfig.RemovedPatterns(name, before.Text, after); len(removed) > 0 {
		cmd.out.Warn("%s: the new block omits %s, so these providers are now installed from their origin registries; specify all patterns in one command, or add an oci_mirror block for each repository",
			name, strings.Join(removed, ", "))
	}
	if cmd.c.Bool("dry-run") {
		return nil
	}
	// 3. Replace the file, unless it has changed.
	if err := before.Replace(after, before.Mode(0o644)); err != nil {
		return fmt.Errorf("writing the CLI configuration: %w", err)
	}
	if read, err := environment.Reads(before.Place); read || err != nil {
		return err
	}
	if other := os.Getenv("TF_CLI_CONFIG_FILE"); other != "" {
		cmd.out.Warn("OpenTofu doesn't read %s, because TF_CLI_CONFIG_FILE specifies %s; run the command again with --write %[2]s", name, other)
		return nil
	}
	cmd.out.Warn("OpenTofu doesn't read %s by default; export TF_CLI_CONFIG_FILE=%s", name, before.Place)
	return nil
}

// tofurcDiff returns the changes as a unified diff. The diff can be logged, and any line
// that is not part of the blocks can contain a secret, so the other lines are omitted.
func tofurcDiff(name string, before, after []byte) string {
	if len(before) > 0 && !bytes.HasSuffix(before, []byte("\n")) {
		before = append(slices.Clip(before), '\n') // otherwise, the diff would repeat the last line
	}
	var b strings.Builder
	for line := range strings.Lines(report.UnifiedDiff(name, before, after)) {
		if strings.HasPrefix(line, " ") {
			line = " …\n"
		}
		b.WriteString(line)
	}
	return b.String()
}
