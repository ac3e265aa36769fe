package main

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/internal/lock"
	"github.com/tofu-oci/tofu-oci/internal/sync"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/templates"
)

func syncInitCommand() *cli.Command {
	return newCommand("init", syncInit, []cli.Flag{
		fromFlag("declare the providers in `REPO`"),
		lockFileFlag("declare the providers that are locked in `FILE` (a lock file, a directory, or a pattern)"),
		&cli.StringFlag{Name: "ci", Category: commandline.GroupOutput, Usage: "also write a trust file, a README, and a pipeline for `SYSTEM`: github or gitlab"},
	}, networkFlags(), []cli.Flag{quietFlag()})
}

func syncInit(cmd *command) error {
	path := cmp.Or(cmd.c.Args().First(), defaultDeclaration)
	o := sync.TemplateOptions{LockFiles: cmd.c.StringSlice("lock-file")}
	var others []string
	if ci := cmd.c.String("ci"); ci != "" {
		pipeline, known := pipelines[ci]
		if !known {
			return usagef("--ci: unknown system %q: want github or gitlab", ci)
		}
		if filepath.Base(path) != defaultDeclaration {
			return usagef("--ci: the pipeline expects the file name %s, not %s", defaultDeclaration, filepath.Base(path))
		}
		o.Trust, others = "trust.hcl", []string{"trust.hcl", "README.md", pipeline}
	}
	if err := createNew(path, func() ([]byte, error) { return newDeclaration(cmd, path, o) }); errors.Is(err, fs.ErrExist) {
		return usagef("%s already exists; specify a different file", path)
	} else if err != nil {
		return err
	}
	cmd.out.Note("wrote %[1]s; edit it, then run tofu-oci sync plan %[1]s", path)
	return writeStarter(cmd, filepath.Dir(path), others)
}

// pipelines maps each CI system to the path of its pipeline in the starter repository.
var pipelines = map[string]string{"github": ".github/workflows/mirror.yml", "gitlab": ".gitlab-ci.yml"}

// writeStarter writes files from the starter repository to a directory. It keeps
// existing files.
func writeStarter(cmd *command, dir string, names []string) error {
	for _, name := range names {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return misuse(err)
		}
		err := createNew(path, func() ([]byte, error) { return fs.ReadFile(templates.Starter(), name) })
		switch {
		case errors.Is(err, fs.ErrExist):
			cmd.out.Warn("%s already exists; it was not changed", path)
		case err != nil:
			return err
		default:
			cmd.out.Note("wrote %s", path)
		}
	}
	return nil
}

// createNew writes a new file with the content that text returns. If the file exists,
// createNew returns [fs.ErrExist].
func createNew(path string, text func() ([]byte, error)) error {
	file, err := atomicfile.Create(path, 0o644)
	if err != nil {
		return misuse(err)
	}
	defer file.Discard()
	content, err := text()
	if err != nil {
		return err
	}
	if _, err := file.Write(content); err != nil {
		return err
	}
	return file.CommitNew()
}

// newDeclaration returns the text of a new declaration to write to path. It declares
// the --lock-file lock files and the providers in the --from repositories or, without
// these flags, an example.
func newDeclaration(cmd *command, path string, o sync.TemplateOptions) ([]byte, error) {
	if len(o.LockFiles) > 0 {
		if _, err := lock.Find(cmd.c.Context, o.LockFiles...); err != nil {
			return nil, flagError("lock-file", err)
		}
	}
	for i, name := range o.LockFiles { // in a declaration, names are relative to its directory
		if relative, err := filepath.Rel(filepath.Dir(path), name); err == nil {
			name = relative
		}
		o.LockFiles[i] = filepath.ToSlash(name)
	}
	switch {
	case cmd.c.IsSet("from"):
		if err := cmd.connect(); err != nil {
			return nil, err
		}
		listing, err := cmd.catalogListing()
		if err != nil {
			return nil, err
		}
		o.Wanted, o.Repository = listing.Requirements(), cmd.from.String()
	case len(o.LockFiles) == 0:
		o.Wanted = []provider.Requirement{{Address: provider.Address{Host: provider.DefaultHost, Namespace: "hashicorp", Type: "null"}}}
	}
	return sync.Template(o), nil
}
