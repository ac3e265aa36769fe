package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/bundle"
	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/internal/doctor"
	"github.com/tofu-oci/tofu-oci/internal/exec"
	"github.com/tofu-oci/tofu-oci/internal/explain"
	"github.com/tofu-oci/tofu-oci/internal/lock"
	"github.com/tofu-oci/tofu-oci/internal/offline"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/configuration"
	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

func execCommand() *cli.Command {
	return newCommand(commandline.Exec, execAction, []cli.Flag{
		fromFlag("use only `REPO` (default: from the CLI configuration)"),
		&cli.StringSliceFlag{Name: "bundle", Category: commandline.GroupSelection, Usage: "use only the providers and modules of the bundle in `FILE`"},
		bundleKeyringFlag(),
		lockFileFlag("use `FILE`, a lock file, directory, or pattern (default: the lock file in COMMAND's directory)"),
		aliasFlag(),
		&cli.StringFlag{Name: "root", Category: commandline.GroupOperation, Usage: "run COMMAND in `DIRECTORY`"},
		&cli.BoolFlag{Name: "allow-direct", Category: commandline.GroupOperation, Usage: "let COMMAND install unlocked providers itself"},
		cacheFlag("store providers in `DIR` (default: the user's cache)"),
		verifyCacheFlag(),
		concurrencyFlag(exec.DefaultConcurrency),
	}, trustFlags(), networkFlags(), []cli.Flag{quietFlag()})
}

func execAction(cmd *command) error {
	if !cmd.c.Args().Present() {
		return usagef("missing command: specify it after --, as in tofu-oci exec -- tofu init")
	}
	files := cmd.c.StringSlice("bundle")
	if len(files) == 0 {
		return cmd.exec(nil)
	}
	return cmd.withBundle(files, cmd.exec)
}

// exec runs the command. If b is not nil, it uses the content of the bundle.
func (cmd *command) exec(b *bundle.Bundle) error {
	o, err := execOptions(cmd)
	if err != nil {
		return err
	}
	if b != nil {
		run, err := offline.Start(cmd.c.Context, b, cmd.aliases, cmd.verifyBundled(b.Signed, trust.Policy.Verify))
		if err != nil {
			return err
		}
		defer func() { _ = run.Close() }()
		o.Source, o.Offline = run.Source, &run.Exec
	}
	code, err := exec.Run(cmd.c.Context, o)
	_, malformed := errors.AsType[*stricthcl.Error](err)
	switch {
	case err == nil && code != explain.ExitDone:
		return &explain.ExitError{Code: code, Child: true}
	case malformed && provider.KindOf(err) == provider.Malformed:
		return configError(cmd.c, err)
	case b != nil && !isStored(err) && provider.KindOf(err) == provider.NotFound:
		return explain.WithHint(err, "create a bundle that contains the missing content")
	case errors.Is(err, lock.ErrNotLocked):
		return explain.WithHint(err, cmd.unlockedHint(err))
	}
	return withHint(err, cmd.remedies().Exec(cmd.c.Context, err))
}

// isStored reports whether the source has all providers that err concerns, so the user
// only has to lock them.
func isStored(err error) bool {
	e, ok := errors.AsType[*exec.UnlockedError](err)
	return ok && len(e.Missing) == 0
}

// unlockedHint returns the commands that make unlocked providers available.
func (cmd *command) unlockedHint(err error) string {
	var commands []string
	if e, ok := errors.AsType[*exec.UnlockedError](err); ok && cmd.fromURL == nil {
		for _, a := range e.Missing {
			commands = append(commands, doctor.MirrorCommand(a, cmd.from))
		}
	}
	return "lock it: " + strings.Join(append(commands, lockCommandLine(cmd.c)), " && ")
}

// lockCommandLine returns the tofu-oci lock command line for the providers that exec's
// command uses.
func lockCommandLine(c *cli.Context) string {
	command := "tofu-oci lock"
	if strings.HasPrefix(filepath.Base(c.Args().First()), "terraform") {
		command += " --terraform"
	}
	if dir := exec.WorkDir(c.Args().Slice(), c.String("root"), os.Getenv); dir != "" {
		command += " --root " + text.Quote(dir)
	}
	if c.IsSet("from") {
		command += " --from " + text.Quote(c.String("from"))
	}
	return command
}

func execOptions(cmd *command) (o exec.Options, err error) {
	o = exec.Options{
		Command: cmd.c.Args().Slice(), Dir: cmd.c.String("root"), Environment: cliconfig.SystemEnvironment(), Config: cmd.c.String("config"),
		Stdin: os.Stdin, Stdout: cmd.c.App.Writer, Stderr: cmd.c.App.ErrWriter, Progress: cmd.out.Progress(),
		Starting: func() {
			cmd.out.EndProgress()
			cmd.out.Debug.Log("program", "path", cmd.c.Args().First())
		},
		Left: func(a provider.Address, why string) { cmd.out.Note("not downloading %s: %s", a, why) },
		Unresolved: func(c configuration.Call) {
			cmd.out.Warn("the providers that this module requires are unknown: %s", c)
		},
	}
	o.Reading = func(terraform bool) configuration.Options {
		return configuration.FromEnvironment(os.Environ(), terraform, o.Command...)
	}
	if o.Dir != "" {
		if info, err := os.Stat(o.Dir); err != nil {
			return o, flagError("root", err)
		} else if !info.IsDir() {
			return o, usagef("--root: %s is not a directory", o.Dir)
		}
	}
	if o.LockFiles, err = lock.Find(cmd.c.Context, cmd.c.StringSlice("lock-file")...); err != nil {
		return o, flagError("lock-file", err)
	}
	if err := cmd.prepare(); err != nil {
		return o, err
	}
	o.Concurrency, o.Store = cmd.concurrency, cmd.cache
	o.Verify, o.OnlyLocked = cmd.out.Warning(cmd.policy.Verify), !cmd.c.Bool("allow-direct") || isStricter(cmd.policy)
	o.Source, err = cmd.source()
	o.Lock, o.MustLock = &lock.FileOptions{}, cmd.mustLock
	o.Locked = func(change lock.Change) {
		for _, module := range change.Unread {
			cmd.out.Warn("%s: the providers that this module requires are not locked: %s", filepath.Dir(change.Path), module)
		}
		cmd.noteUnlocked(change)
		if change.Written {
			cmd.out.Note("wrote %s", change.Path)
		}
	}
	return o, err
}

// isStricter reports whether a policy can reject releases that OpenTofu would install.
// OpenTofu doesn't verify signatures of releases in OCI registries.
func isStricter(p trust.Policy) bool {
	return p.Mode == trust.ModeRequire || len(p.Rules) > 0 || !p.Keyring.IsZero() || p.EnforceExpiration || p.EnforceValidation
}

// mustLock returns the reason why OpenTofu must not install a provider from the first
// oci_mirror that matches the provider, or "" if OpenTofu can install it.
func (cmd *command) mustLock(ctx context.Context, a provider.Address) (reason string, err error) {
	ref, _, err := cmd.mirrorOf(a)
	if err != nil {
		return "", err
	}
	if has, err := cmd.network.HasClientCertificate(ref.Registry); has || err != nil {
		return "its registry requires a client certificate, which OpenTofu cannot send", err
	}
	repo, err := cmd.open(ref)
	if err != nil {
		return "", err
	}
	e, err := approval.Find(ctx, repo, provider.Requirement{Address: a})
	switch {
	case errors.Is(err, repository.ErrNoRepository):
		return "", nil
	case err == nil && e.Tag != "":
		return "its releases require approval, which OpenTofu does not check", nil
	}
	return "", err
}
