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
	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// maxTofurc bounds a configuration that is changed, in bytes.
const maxTofurc = 256 << 10

// tofurcFile is a configuration that is to have the block.
type tofurcFile struct {
	*atomicfile.UserFile
	name string
}

// writeTofurc puts the block into a file.
func writeTofurc(c *cli.Context, t template.Template, patterns []provider.Pattern) error {
	// 1. What is there.
	before := tofurcFile{name: c.String("write")}
	var err error
	if before.UserFile, err = atomicfile.ReadUserFile(before.name, maxTofurc); err != nil {
		return usagef("--write: %w", err)
	}
	// 2. What will be, or why it is not for a program to write.
	after, err := before.with(t, patterns)
	if byHand, ok := errors.AsType[*cliconfig.MergeError](err); ok {
		_, failed := io.WriteString(c.App.Writer, report.Printable(byHand.Block))
		return errors.Join(err, failed)
	}
	if err != nil {
		return usagef("%w", err)
	}
	if _, err := io.WriteString(c.App.Writer, report.Printable(tofurcDiff(before.name, before.Text, after))); err != nil {
		return err
	}
	if err := warnGone(c, before, after); err != nil || c.Bool("dry-run") {
		return err
	}
	// 3. It replaces what was read, and nothing else.
	if err := before.Replace(after, before.Mode(0o644)); err != nil {
		return fmt.Errorf("writing the CLI configuration: %w", err)
	}
	return noteUnread(c, before)
}

// with returns the file's text with the block in it.
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
	if err != nil || !slices.ContainsFunc(files, func(p cliconfig.Place) bool { return f.is(p.Path) }) {
		return after, err
	}
	// OpenTofu refuses two blocks, also in two files.
	for _, path := range files.Chosen() {
		if other, err := cliconfig.Load(path); err == nil && other.Installation != nil && !f.is(path) {
			return nil, &cliconfig.MergeError{Position: other.Installation.Position, Problem: "OpenTofu reads a provider_installation block here, and refuses a second one", Block: block}
		}
	}
	return after, nil
}

// is reports whether a path leads to the file.
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

// secretLine is one of a configuration that may have a secret in it.
var secretLine = regexp.MustCompile(`(?i)(token|password|secret)[^=]*=`)

// tofurcDiff shows what changes. Lines around it that may have secrets are left out: it
// may go to a log.
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

// noteUnread says where OpenTofu does not read the file by itself.
func noteUnread(c *cli.Context, f tofurcFile) error {
	files, err := cliconfig.Locate(cliconfig.SystemEnvironment(), "")
	if err != nil || slices.ContainsFunc(files.Chosen(), f.is) {
		return err
	}
	_, err = io.WriteString(c.App.ErrWriter, report.Printable(fmt.Sprintf("OpenTofu does not read %s by itself: export TF_CLI_CONFIG_FILE=%s\n", f.name, f.Place)))
	return err
}

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

// mirroredIn returns the patterns that the mirrors of a configuration have; none where it
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

// covers reports whether a pattern is for all that another one is for.
func covers(wide, narrow provider.Pattern) bool {
	parts := strings.Split(narrow.String(), "/")
	return slices.EqualFunc(strings.Split(wide.String(), "/"), parts, func(w, n string) bool { return w == "*" || w == n })
}
