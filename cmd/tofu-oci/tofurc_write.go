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
	"github.com/tofu-oci/tofu-oci/internal/doctor"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// maxTofurc limits the size of a configuration file in bytes.
const maxTofurc = 256 << 10

// tofurcFile is a CLI configuration file to which the block is added.
type tofurcFile struct {
	*atomicfile.UserFile
	name string
}

// writeTofurc writes the block to the file of --write.
func writeTofurc(c *cli.Context, t template.Template, patterns []provider.Pattern) error {
	// 1. Read the file.
	before := tofurcFile{name: c.String("write")}
	var err error
	if before.UserFile, err = atomicfile.ReadUserFile(before.name, maxTofurc); err != nil {
		return usagef("--write: %w", err)
	}
	// 2. Merge the block. If merging fails, print the block, so that the user can add
	// it.
	after, err := before.with(t, patterns)
	if conflict, ok := errors.AsType[*cliconfig.MergeError](err); ok {
		_, failed := io.WriteString(c.App.Writer, report.Printable(conflict.Block))
		return errors.Join(err, failed)
	}
	if err != nil {
		return usagef("%w", err)
	}
	if _, err := io.WriteString(c.App.Writer, report.Printable(tofurcDiff(before.name, before.Text, after))); err != nil {
		return err
	}
	if err := warnRemovedPatterns(c, before, after); err != nil || c.Bool("dry-run") {
		return err
	}
	// 3. Replace the file, unless it has changed.
	if err := before.Replace(after, before.Mode(0o644)); err != nil {
		return fmt.Errorf("writing the CLI configuration: %w", err)
	}
	return noteUnread(c, before)
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
func noteUnread(c *cli.Context, f tofurcFile) error {
	files, err := cliconfig.Locate(cliconfig.SystemEnvironment(), "")
	if err != nil || slices.ContainsFunc(files.Chosen(), f.is) {
		return err
	}
	reason := "by default"
	if os.Getenv("TF_CLI_CONFIG_FILE") != "" {
		reason = "because TF_CLI_CONFIG_FILE specifies a different file"
	}
	_, err = io.WriteString(c.App.ErrWriter, report.Printable(fmt.Sprintf("OpenTofu doesn't read %s %s; export TF_CLI_CONFIG_FILE=%s\n", f.name, reason, f.Place)))
	return err
}

// warnRemovedPatterns warns about patterns in the replaced block that no mirror covers
// anymore.
func warnRemovedPatterns(c *cli.Context, f tofurcFile, after []byte) error {
	before, now := mirrorPatterns(f.name, f.Text), mirrorPatterns(f.name, after)
	var removed []string
	for _, p := range before {
		if !slices.ContainsFunc(now, func(n provider.Pattern) bool { return doctor.Covers(n, p) }) {
			removed = append(removed, p.String())
		}
	}
	if len(removed) == 0 {
		return nil
	}
	_, err := io.WriteString(c.App.ErrWriter, report.Printable(fmt.Sprintf(
		"warning: %s: the new block no longer contains %s, so these providers are now installed from their origin registries; specify all patterns in one command, or add an oci_mirror block for each repository\n",
		f.name, strings.Join(removed, ", "))))
	return err
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
