package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/internal/explain"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/configuration"
	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/exec"
	"github.com/tofu-oci/tofu-oci/pkg/lock"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

func execCommand() *cli.Command {
	return &cli.Command{
		Name:      commandline.Exec,
		Usage:     "run tofu, terraform or what calls them, with providers from OCI repositories",
		ArgsUsage: "[FLAG...] -- COMMAND [ARGUMENT...]",
		Description: strings.TrimSpace(`
Brings the providers that the lock file selects into the cache, verified against
the hashes in it, and runs COMMAND with a CLI configuration that leads there: the
user's own, in which those providers come from a filesystem_mirror and from nowhere
else. COMMAND needs to know nothing of OCI: tofu from 1.6, terraform from 1.0, and
terragrunt, which calls one of them. With all of it in the cache nothing is asked of
the network.

The lock file is that of the directory where COMMAND works: -chdir, --working-dir of
terragrunt, and --chdir count. Where there is none it is written first, for all
platforms, as tofu-oci lock does; where no configuration found either, tofu and
terraform run as they are. For terragrunt, whose directories nobody knows
beforehand, name all lock files.

If the configuration requires a provider that the lock file lacks, tofu-oci lock
adds it. Until then, OpenTofu from 1.10 installs it from the oci_mirror of the CLI
configuration. Other commands that need the oci_mirror do not start. With
--signatures require, a trust file or a keyring, no command starts until the provider
is locked.

COMMAND sees no version but those that are locked, so init -upgrade finds nothing
newer: tofu-oci lock --upgrade is for that. Its .terraform links to the cache; what
cache prune removes there comes back with the next tofu-oci exec -- tofu init.

Each run verifies signatures by its own flags and trust file, even those of packages
in the cache, which needs no network. Hashes in a lock file are always checked.

stdin, stdout, stderr and signals are COMMAND's, and its exit code is given back:
127 when it does not exist, 126 when it is no program, 128 and the number of the
signal that ended it.

Examples:
   # OpenTofu, in a pipeline
   tofu-oci exec --from ghcr.io/acme/providers/{namespace}/{type} -- tofu init

   # Terraform; its providers were mirrored from registry.opentofu.org
   tofu-oci exec --from ghcr.io/acme/providers/{namespace}/{type} \
      --alias 'registry.terraform.io/hashicorp/*=hashicorp/*' -- terraform -chdir=live plan

   # Terragrunt, with the lock files of all units
   tofu-oci exec --lock-file 'live/**/.terraform.lock.hcl' -- terragrunt run-all plan`),
		Flags: slices.Concat([]cli.Flag{
			&cli.StringFlag{Name: "from", Usage: "repository template `REPO` to fetch from (default: where the CLI configuration says that OpenTofu installs from)"},
			lockFileFlag("lock `FILE`, directory of them, or pattern such as 'live/**/.terraform.lock.hcl' (repeatable; default: that of the directory where COMMAND works)"),
			&cli.StringFlag{Name: "chdir", Usage: "run COMMAND in `DIRECTORY`"},
			&cli.BoolFlag{Name: "no-write-lock", Usage: "do not write a lock file where there is none; COMMAND still finds what would be in it"},
			cacheFlag("keep providers in `DIR` (default: tofu-oci in the user's directory for caches)"),
			&cli.BoolFlag{Name: "verify-cache", Usage: "hash what is in the cache, though it looks untouched"},
			aliasFlag(),
			&cli.IntFlag{Name: "concurrency", Value: exec.DefaultConcurrency, Usage: "transfer `N` zips at once"},
		}, trustFlags(), networkFlags(), []cli.Flag{
			quietFlag(),
		}),
		Action: printing(execAction),
	}
}

func execAction(c *cli.Context, out *report.Report) error {
	if !c.Args().Present() {
		return usagef("name the command to run: tofu-oci exec -- tofu init")
	}
	o, cmd, err := execOptions(c, out)
	if err != nil {
		return err
	}
	code, err := exec.Run(c.Context, o)
	_, malformed := errors.AsType[*stricthcl.Error](err)
	switch {
	case err == nil && code != explain.ExitDone:
		return &explain.ExitError{Code: code, Child: true}
	case malformed && provider.KindOf(err) == provider.Malformed:
		return ofConfig(c, err)
	case errors.Is(err, lock.ErrNotLocked):
		return explain.WithHint(err, "lock it: "+lockCommandFor(c))
	}
	return hinted(err, cmd.remedies().Exec(c.Context, err))
}

// lockCommandFor returns the command that locks the providers for the command of exec.
func lockCommandFor(c *cli.Context) string {
	command := "tofu-oci lock"
	if strings.HasPrefix(filepath.Base(c.Args().First()), "terraform") {
		command += " --terraform"
	}
	if dir := exec.WorkDir(c.Args().Slice(), c.String("chdir"), os.Getenv); dir != "" {
		command += " --module-dir " + text.Quote(dir)
	}
	if c.IsSet("from") {
		command += " --from " + text.Quote(c.String("from"))
	}
	return command
}

// execOptions reads the flags.
func execOptions(c *cli.Context, out *report.Report) (o exec.Options, cmd *command, err error) {
	o = exec.Options{
		Command: c.Args().Slice(), Dir: c.String("chdir"), Environment: cliconfig.SystemEnvironment(), Config: c.String("config"),
		Stdin: os.Stdin, Stdout: c.App.Writer, Stderr: c.App.ErrWriter, Starting: func() { starting(out, c.Args().First()) }, Progress: out.Progress(),
		Left: func(a provider.Address, why string) { out.Note("%s is left to the CLI configuration: %s", a, why) },
	}
	o.Reading = func(terraform bool) configuration.Options {
		reading := readingAs(terraform)
		reading.UnknownVariables = reading.UnknownVariables || setsVariables(o.Command)
		return reading
	}
	if o.Dir != "" {
		if info, err := os.Stat(o.Dir); err != nil {
			return o, nil, usagef("--chdir: %w", err)
		} else if !info.IsDir() {
			return o, nil, usagef("--chdir %s: is no directory", o.Dir)
		}
	}
	if o.LockFiles, err = lock.Find(c.Context, c.StringSlice("lock-file")...); err != nil {
		return o, nil, usagef("--lock-file: %w", err)
	}
	if cmd, err = begin(c, out); err != nil {
		return o, cmd, err
	}
	o.Concurrency, o.Store = cmd.concurrency, cmd.cache
	o.Verify, o.OnlyLocked = out.Warning(cmd.judging.Verify), demandsMore(cmd.judging)
	o.Source, err = cmd.from()
	o.Lock, o.Approves = &lock.FileOptions{DryRun: c.Bool("no-write-lock")}, cmd.approves
	o.Locked = func(change lock.Change) {
		for _, module := range change.Unread {
			out.Warn("%s: not looked at for the lock file: %s", filepath.Dir(change.Path), module)
		}
		noteLocked(out, cmd.config, change)
		if change.Written {
			out.Note("wrote %s", change.Path)
		}
	}
	return o, cmd, err
}

// demandsMore reports whether a policy could refuse releases that OpenTofu installs from an
// OCI registry, where it doesn't verify signatures.
func demandsMore(p trust.Policy) bool {
	return p.Mode == trust.ModeRequire || len(p.Rules) > 0 || !p.Keyring.IsZero() || p.EnforceExpiration || p.EnforceValidation
}

// approves reports whether the repository of the first oci_mirror that matches a provider has
// pending or denied releases of it.
func (cmd *command) approves(ctx context.Context, a provider.Address) (bool, error) {
	i, err := cmd.installed()
	if err != nil {
		return false, err
	}
	ref, _, err := i.Target(a)
	if err != nil {
		return false, err
	}
	repo, err := repository.Open(ref, cmd.repos)
	if err != nil {
		return false, err
	}
	e, err := approval.Find(ctx, repo, provider.Requirement{Address: a})
	if errors.Is(err, repository.ErrNoRepository) {
		return false, nil
	}
	return e.Tag != "", err
}

// starting ends the progress before the command that is run begins to print.
func starting(out *report.Report, command string) {
	out.EndProgress()
	out.Debug.Log("program", "path", command)
}
