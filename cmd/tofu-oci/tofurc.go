package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
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
		Description: `The provider_installation block belongs in ~/.tofurc or in the file that
TF_CLI_CONFIG_FILE specifies.

PATTERN is [HOST/]NAMESPACE/TYPE with * for trailing parts; the default is all providers
of the template. Matching providers are installed only from the repository. If --write
can't merge the block into FILE, the exit code is 4 and the block is printed.

Details: ` + docs + `concepts.md

Examples:
   tofu-oci tofurc ghcr.io/acme/providers/{namespace}/{type}
   tofu-oci tofurc ghcr.io/acme/providers/{namespace}/{type} --write ~/.tofurc
   tofu-oci tofurc registry.example.com/{hostname}/{namespace}/{type} '*/*/*'
   tofu-oci tofurc ghcr.io/acme/aws hashicorp/aws
   tofu-oci tofurc --validate ~/.tofurc`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "write", Category: commandline.GroupOperation, Usage: "add the block to `FILE`"},
			dryRunFlag("with --write: print the changes, but write nothing"),
			&cli.StringFlag{Name: "validate", Category: commandline.GroupOperation, Usage: "validate the CLI configuration in `FILE`"},
			outputFlag("with --validate: output `FORMAT`, text or json"),
		},
		Action: withReport(tofurcAction),
	}
}

// validateTofurc validates a CLI configuration.
func validateTofurc(cmd *command) error {
	if cmd.c.Args().Present() || cmd.c.String("validate") == "" || cmd.c.IsSet("write") {
		return usagef("--validate requires a FILE and cannot be combined with other arguments; see tofu-oci tofurc --help")
	}
	files, config, err := readConfiguration(cmd.c.String("validate"))
	findings, malformed := doctor.CheckSyntax(err)
	switch {
	case err != nil && !malformed:
		return err
	case err == nil:
		findings = doctor.CheckConfig(config, files)
	}
	return cmd.out.ConfigurationFindings(cmd.c.String("validate"), findings)
}

// tofurcAction prints the block or writes it to a file, or validates a file.
func tofurcAction(cmd *command) error {
	c := cmd.c
	if c.IsSet("validate") {
		return validateTofurc(cmd)
	}
	if !c.Args().Present() {
		return usagef("missing REPO: specify a repository template, such as ghcr.io/acme/providers/{namespace}/{type}; see tofu-oci tofurc --help")
	}
	t, err := template.Parse(c.Args().First())
	if err != nil {
		return misuse(err)
	}
	if t.IsLayout() {
		return layoutError(t)
	}
	var patterns []provider.Pattern
	for _, arg := range c.Args().Tail() {
		p, err := provider.ParsePattern(arg)
		if err != nil {
			return misuse(err)
		}
		patterns = append(patterns, p)
	}
	if c.IsSet("write") {
		return writeTofurc(cmd, t, patterns)
	}
	block, err := cliconfig.MirrorBlock(t, patterns)
	if err != nil {
		return misuse(err)
	}
	if _, err = fmt.Fprint(c.App.Writer, block); err != nil {
		return err
	}
	// OpenTofu 1.13 expects an RFC 6570 template, whose variables have no $.
	cmd.out.Note("note: tofu providers lock in OpenTofu 1.13 and later doesn't read this block; run it with -oci-mirror=%s",
		text.Quote(strings.ReplaceAll(t.HCL(), "${", "{")))
	return nil
}

// layoutError returns the error for a template of image layouts.
func layoutError(t template.Template) error {
	return explain.WithHint(usagef("OpenTofu cannot install providers from %s: it supports only registries", t.Redacted()), fmt.Sprintf(
		"copy the releases to a registry: tofu-oci copy PROVIDER --all --from '%[1]s' --to REPO; or create a filesystem_mirror: tofu-oci pull PROVIDER --layout packed --from '%[1]s' --dir DIRECTORY", t.Redacted()))
}

// maxTofurc limits the size of a configuration file in bytes.
const maxTofurc = 256 << 10

// tofurcFile is a CLI configuration file to which the block is added.
type tofurcFile struct {
	*atomicfile.UserFile
	name string
}

// writeTofurc writes the block to the file of --write.
func writeTofurc(cmd *command, t template.Template, patterns []provider.Pattern) error {
	// 1. Read the file.
	before := tofurcFile{name: cmd.c.String("write")}
	var err error
	if before.UserFile, err = atomicfile.ReadUserFile(before.name, maxTofurc); err != nil {
		return flagError("write", err)
	}
	// 2. Merge the block. If merging fails, print the block, so that the user can add
	// it.
	after, err := before.with(t, patterns)
	if conflict, ok := errors.AsType[*cliconfig.MergeError](err); ok {
		_, failed := io.WriteString(cmd.c.App.Writer, report.Printable(conflict.Block))
		return errors.Join(err, failed)
	}
	if err != nil {
		return misuse(err)
	}
	if _, err := io.WriteString(cmd.c.App.Writer, report.Printable(tofurcDiff(before.name, before.Text, after))); err != nil {
		return err
	}
	if warnRemovedPatterns(cmd, before, after); cmd.c.Bool("dry-run") {
		return nil
	}
	// 3. Replace the file, unless it has changed.
	if err := before.Replace(after, before.Mode(0o644)); err != nil {
		return fmt.Errorf("writing the CLI configuration: %w", err)
	}
	return noteUnread(cmd, before)
}

// with returns the file's text including the block.
func (f tofurcFile) with(t template.Template, patterns []provider.Pattern) ([]byte, error) {
	block, err := cliconfig.MirrorBlock(t, patterns)
	if err != nil {
		return nil, err
	}
	after, err := cliconfig.Merge(f.name, f.Text, t, patterns)
	if err != nil || bytes.Equal(f.Text, after) {
		return after, err
	}
	files, err := cliconfig.Locate(cliconfig.SystemEnvironment(), "")
	if err != nil || !slices.ContainsFunc(files, func(p cliconfig.Place) bool { return !p.Ignored && f.is(p.Path) }) {
		return after, err
	}
	// OpenTofu rejects two blocks, even in different files.
	for _, path := range files.Chosen() {
		if other, err := cliconfig.Load(path); err == nil && other.Installation != nil && !f.is(path) {
			return nil, &cliconfig.MergeError{Position: other.Installation.Position, Problem: "OpenTofu already reads a provider_installation block from this file and rejects a second one", Block: block}
		}
	}
	return after, nil
}

// is reports whether a path refers to the file.
func (f tofurcFile) is(path string) bool {
	if path == f.Place {
		return true
	}
	a, err := os.Stat(path)
	if err != nil {
		return false
	}
	b, err := os.Stat(f.Place)
	return err == nil && os.SameFile(a, b)
}

// secretLine matches lines of a configuration that can contain a secret.
var secretLine = regexp.MustCompile(`(?i)(token|password|secret)[^=]*=`)

// tofurcDiff returns the changes as a unified diff. The diff can be logged, so context
// lines that can contain secrets are omitted.
func tofurcDiff(name string, before, after []byte) string {
	var b strings.Builder
	for line := range strings.Lines(report.UnifiedDiff(name, before, after)) {
		if strings.HasPrefix(line, " ") && secretLine.MatchString(line) {
			line = " …\n"
		}
		b.WriteString(line)
	}
	return b.String()
}

// noteUnread explains how to make OpenTofu read the file, unless OpenTofu already does.
func noteUnread(cmd *command, f tofurcFile) error {
	files, err := cliconfig.Locate(cliconfig.SystemEnvironment(), "")
	if err != nil || slices.ContainsFunc(files.Chosen(), f.is) {
		return err
	}
	reason := "by default"
	if os.Getenv("TF_CLI_CONFIG_FILE") != "" {
		reason = "because TF_CLI_CONFIG_FILE specifies a different file"
	}
	cmd.out.Note("OpenTofu doesn't read %s %s; export TF_CLI_CONFIG_FILE=%s", f.name, reason, f.Place)
	return nil
}

// warnRemovedPatterns warns about patterns in the replaced block that no mirror covers
// anymore.
func warnRemovedPatterns(cmd *command, f tofurcFile, after []byte) {
	before, now := mirrorPatterns(f.name, f.Text), mirrorPatterns(f.name, after)
	var removed []string
	for _, p := range before {
		if !slices.ContainsFunc(now, func(n provider.Pattern) bool { return doctor.Covers(n, p) }) {
			removed = append(removed, p.String())
		}
	}
	if len(removed) > 0 {
		cmd.out.Warn("%s: the new block no longer contains %s, so these providers are now installed from their origin registries; specify all patterns in one command, or add an oci_mirror block for each repository",
			f.name, strings.Join(removed, ", "))
	}
}

// mirrorPatterns returns the patterns of all mirrors in a configuration, or nil if it is
// invalid.
func mirrorPatterns(name string, text []byte) (all []provider.Pattern) {
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
