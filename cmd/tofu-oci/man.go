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
		Name: "man",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "dir", Category: commandline.GroupOperation, Usage: "write the pages to `DIRECTORY`, which is created if necessary"},
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
		if err := atomicfile.WriteFile(filepath.Join(dir, name), 0o644, []byte(pages[name])); err != nil {
			return err
		}
	}
	return nil
}
