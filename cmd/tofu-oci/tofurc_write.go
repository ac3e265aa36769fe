package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/boundedfile"
	"github.com/tofu-oci/tofu-oci/internal/textdiff"
	"github.com/tofu-oci/tofu-oci/pkg/cliconfig"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// maxTofurc bounds a configuration that is changed, in bytes.
const maxTofurc = 256 << 10

// tofurcFile is a configuration that is to have the block.
type tofurcFile struct {
	name string
	// place is where it lies, behind links.
	place string
	mode  fs.FileMode
	text  []byte // nothing where it is not there yet
}

// writeTofurc puts the block into a file.
func writeTofurc(c *cli.Context, t template.Template, patterns []provider.Pattern) error {
	// 1. What is there.
	before, err := readTofurc(c.String("write"))
	if err != nil {
		return usagef("--write: %w", err)
	}
	// 2. What will be, or why it is not for a program to write.
	after, err := before.with(t, patterns)
	if byHand, ok := errors.AsType[*cliconfig.MergeError](err); ok {
		_, failed := io.WriteString(c.App.Writer, printable(byHand.Block))
		return errors.Join(err, failed)
	}
	if err != nil {
		return &usage{err}
	}
	if _, err := io.WriteString(c.App.Writer, printable(tofurcDiff(before.name, before.text, after))); err != nil {
		return err
	}
	if err := warnGone(c, before, after); err != nil || c.Bool("dry-run") {
		return err
	}
	// 3. It replaces what was read, and nothing else.
	if err := before.replace(after); err != nil {
		return fmt.Errorf("writing the CLI configuration: %w", err)
	}
	return noteUnread(c, before)
}

func readTofurc(name string) (f tofurcFile, err error) {
	f = tofurcFile{name: name, mode: 0o644}
	if f.place, err = filepath.Abs(name); err != nil {
		return f, err
	}
	if _, err := os.Lstat(f.place); errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if f.place, err = filepath.EvalSymlinks(f.place); err != nil {
		return f, err
	}
	info, err := os.Stat(f.place)
	if err != nil {
		return f, err
	}
	f.mode = info.Mode().Perm()
	f.text, err = boundedfile.Read(f.place, maxTofurc)
	return f, err
}

// with gives the file's text with the block in it.
func (f tofurcFile) with(t template.Template, patterns []provider.Pattern) ([]byte, error) {
	block, err := cliconfig.MirrorBlock(t, patterns)
	if err != nil {
		return nil, err
	}
	after, err := cliconfig.Merge(f.name, f.text, t, patterns)
	if err != nil || bytes.Equal(f.text, after) {
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

// is tells whether a path leads to the file.
func (f tofurcFile) is(path string) bool {
	if path == f.place {
		return true
	}
	a, err := os.Stat(path)
	if err != nil {
		return false
	}
	b, err := os.Stat(f.place)
	return err == nil && os.SameFile(a, b)
}

// replace writes the file, unless another process has changed it.
func (f tofurcFile) replace(after []byte) error {
	if bytes.Equal(f.text, after) {
		return nil
	}
	if now, err := readTofurc(f.name); err != nil || !bytes.Equal(now.text, f.text) {
		return errors.Join(fmt.Errorf("%s was changed meanwhile", f.name), err)
	}
	return atomicfile.Write(f.place, f.mode, func(w io.Writer) error {
		_, err := w.Write(after)
		return err
	})
}

// secretLine is one of a configuration that may have a secret in it.
var secretLine = regexp.MustCompile(`(?i)(token|password|secret)[^=]*=`)

// tofurcDiff shows what changes. Lines around it that may have secrets are left out: it
// may go to a log.
func tofurcDiff(name string, before, after []byte) string {
	var b strings.Builder
	for line := range strings.Lines(textdiff.Diff(name, before, after)) {
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
	_, err = io.WriteString(c.App.ErrWriter, printable(fmt.Sprintf("OpenTofu does not read %s by itself: export TF_CLI_CONFIG_FILE=%s\n", f.name, f.place)))
	return err
}
