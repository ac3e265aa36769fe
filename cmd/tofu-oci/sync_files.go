package main

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/internal/outcome"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/lock"
	"github.com/tofu-oci/tofu-oci/pkg/module"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sync"
)

func syncValidateCommand() *cli.Command {
	return newCommand("validate", syncValidate, []cli.Flag{
		&cli.StringFlag{Name: "explain", Category: commandline.GroupSelection, Usage: "show the settings of `PROVIDER`, or of a module (HOST/NAMESPACE/NAME/SYSTEM)"},
		outputFlag("`FORMAT`: text or json"), quietFlag(),
	})
}

func syncValidate(cmd *command) error {
	d, err := readDeclaration(cmd.c)
	if err != nil {
		return err
	}
	if _, _, err := d.Policy(os.Getenv); err != nil {
		return misuse(err)
	}
	wanted, problems := cmd.declaredProviders(d, func([]string, func(string, error)) (*module.Closure, error) { return &module.Closure{}, nil })
	if err := d.CheckRepositories(wanted); err != nil {
		return err
	}
	if !cmd.c.IsSet("explain") {
		return cmd.out.Declared(d, wanted, nil, problems)
	}
	var a provider.Address
	if err := parse(cmd.c, "explain", &a, sync.ParseAddress); err != nil {
		return err
	}
	if wanted = slices.DeleteFunc(wanted, func(w sync.Wanted) bool { return w.Address != a }); len(wanted) == 0 {
		wanted = []sync.Wanted{{Address: a}} // nothing selects it
	}
	return cmd.out.Declared(d, wanted, d.Explain(a), problems)
}

func syncInitCommand() *cli.Command {
	return newCommand("init", syncInit, []cli.Flag{
		fromFlag("`REPO`: declare the providers in these repositories"),
		lockFileFlag("`FILE`: lock file, directory, or pattern to declare (repeatable)"),
	}, networkFlags(), []cli.Flag{quietFlag()})
}

func syncInit(cmd *command) error {
	path := cmp.Or(cmd.c.Args().First(), defaultDeclaration)
	file, err := atomicfile.Create(path, 0o644)
	if err != nil {
		return misuse(err)
	}
	defer file.Discard()
	text, err := newDeclaration(cmd, path)
	if err != nil {
		return err
	}
	if _, err := file.Write(text); err != nil {
		return err
	}
	if err := file.CommitNew(); errors.Is(err, fs.ErrExist) {
		return usagef("%s already exists; specify a different file", path)
	} else if err != nil {
		return err
	}
	cmd.out.Note("wrote %[1]s; edit it, then run tofu-oci sync plan %[1]s", path)
	return nil
}

// newDeclaration returns the text of a new declaration in a file. It declares the lock files of
// --lock-file and the providers in the repositories of --from, or an example.
func newDeclaration(cmd *command, path string) ([]byte, error) {
	lockFiles := cmd.c.StringSlice("lock-file")
	if len(lockFiles) > 0 {
		if _, err := lock.Find(cmd.c.Context, lockFiles...); err != nil {
			return nil, flagError("lock-file", err)
		}
	}
	for i, name := range lockFiles { // names in a declaration are relative to it
		if relative, err := filepath.Rel(filepath.Dir(path), name); err == nil {
			name = relative
		}
		lockFiles[i] = filepath.ToSlash(name)
	}
	switch {
	case cmd.c.IsSet("from"):
	case len(lockFiles) > 0:
		return sync.Template(nil, "", lockFiles...), nil
	default:
		return sync.Template([]provider.Requirement{{Address: provider.Address{Host: provider.DefaultHost, Namespace: "hashicorp", Type: "null"}}}, ""), nil
	}
	if err := cmd.connect(); err != nil {
		return nil, err
	}
	listing, err := cmd.catalogListing()
	if err != nil {
		return nil, err
	}
	return sync.Template(listing.Requirements(), cmd.from.String(), lockFiles...), nil
}

func syncReportCommand() *cli.Command {
	return newCommand("report", syncReport, []cli.Flag{
		&cli.StringFlag{Name: "declaration", Category: commandline.GroupSelection, Usage: "`FILE`: the declaration (default: the path in the results)"},
		&cli.StringFlag{Name: "ca-file", Category: commandline.GroupNetwork, Usage: "also trust the CA certificates in `FILE` (PEM)"},
		&cli.StringFlag{Name: "max-age", Category: commandline.GroupSelection, Usage: "ignore results older than `DURATION`, such as 8h"},
		textfileFlag(),
	}, syncOutputFlags())
}

func syncReport(cmd *command) error {
	if !cmd.c.Args().Present() {
		return usagef("missing FILE: specify the results of sync apply --out")
	}
	var limit time.Duration
	if err := parseSet(cmd.c, "max-age", &limit, text.ParseAge); err != nil {
		return err
	}
	all, problems, err := outcome.Merge(cmd.c.Args().Slice(), limit)
	if err != nil {
		return err
	}
	declared := &all.Summary.Declaration
	path := cmp.Or(cmd.c.String("declaration"), declared.Path)
	if path == "" { // no results
		return usagef("reading the results: %w", errors.Join(problems...))
	}
	d, err := readDeclarationFrom(path)
	if err != nil {
		return err
	}
	if d.Digest != cmp.Or(declared.Digest, d.Digest) {
		return provider.Errorf(provider.Conflict, "%s differs from the declaration that produced the results", d.Path)
	}
	declared.Path, declared.Digest = cmp.Or(declared.Path, d.Path), d.Digest
	cmd.out.Summary = os.Getenv("GITHUB_STEP_SUMMARY")
	watch := watcher{command: cmd}
	if err := watch.open(d); err != nil {
		return err
	}
	return watch.finish(cmd.out.MergeSync(all, problems))
}
