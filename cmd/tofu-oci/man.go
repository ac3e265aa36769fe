package main

import (
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/commandline"
)

func manCommand() *cli.Command {
	return &cli.Command{
		Name:      "man",
		Usage:     "print a manual page, or write all manual pages to a directory",
		ArgsUsage: "[COMMAND...] | --dir DIRECTORY",
		Description: `The pages have the same content as --help. tofu-oci's packages include them.

Examples:
   # read the page of a command
   tofu-oci man cache prune | man -l -

   # install all pages, for man tofu-oci-mirror
   tofu-oci man --dir ~/.local/share/man/man1`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "dir", Category: commandline.GroupContent, Usage: "write to `DIRECTORY`; created if it doesn't exist"},
		},
		Action: manAction,
	}
}

func manAction(c *cli.Context) error {
	program := commandline.Describe(c.App, buildDate())
	if c.IsSet("dir") {
		if c.String("dir") == "" {
			return usagef("missing directory: use man --dir DIRECTORY; see tofu-oci man --help")
		}
		return writePages(c.String("dir"), program.Manual())
	}
	page, found := program.Page(c.Args().Slice()...)
	if !found {
		return usagef("unknown command %q; see tofu-oci --help", strings.Join(c.Args().Slice(), " "))
	}
	_, err := io.WriteString(c.App.Writer, page)
	return err
}

// writePages writes each page to a file.
func writePages(dir string, pages map[string]string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		err := atomicfile.Write(filepath.Join(dir, name), 0o644, func(w io.Writer) error {
			_, err := io.WriteString(w, pages[name])
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
