package exec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/lock"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/configuration"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/store"
)

// DefaultConcurrency is the default maximum number of concurrent transfers.
const DefaultConcurrency = 4

// Options configures [Run]. Command, Source, and Store are required.
type Options struct {
	// Command is the program with its arguments.
	Command []string
	// Dir is the directory in which the command is started. If empty, the working
	// directory of the process is used.
	Dir string
	// LockFiles lists the lock files to use. If empty, the lock file in the command's
	// working directory is used. See [WorkDir].
	LockFiles []string
	// Lock, if not nil, configures the lock file that Run creates if the directory has
	// no lock file. Run sets Verify, Configuration, Loaded, and Skip. It also sets DryRun
	// if -lockfile=readonly is among the command's arguments or in TF_CLI_ARGS or
	// TF_CLI_ARGS_init, so that init reports the missing lock file. If the directory
	// also has no configuration, and Dir is empty, tofu and terraform run without a
	// lock file, because commands such as version don't need it. Otherwise, the error
	// for a missing lock file wraps [lock.ErrNoFile].
	Lock *lock.FileOptions
	// Locked, if not nil, is called with the result of creating the lock file.
	Locked func(lock.Change)

	// Source provides packages that the store doesn't have.
	Source provider.Source
	// Store stores the packages.
	Store *store.Store
	// Verify, if not nil, verifies the signature of a release. If it returns an error,
	// Run fails. Verify is typically a method of trust.Policy. Each run verifies each
	// package. For packages in the store, it uses the verification metadata that is
	// stored with them. Before rejecting a package in the store, Run requests newer
	// metadata from the source.
	Verify func(ctx context.Context, r provider.Release) (provider.Verdict, error)
	// Reading returns the options for reading the configuration. Run compares the
	// configuration with the lock files. terraform selects Terraform's rules. If
	// Reading is nil, the options contain only these rules and the data directory from
	// the environment.
	Reading func(terraform bool) configuration.Options
	// OnlyLocked restricts the command to the selected packages. Of the user's
	// installation methods, only dev_overrides apply. If the command installs
	// providers, and the configuration requires a provider that no lock file selects,
	// Run returns an *[UnlockedError]. If only a module that init downloads requires
	// the provider, Run returns the error after init has failed.
	OnlyLocked bool
	// MustLock, if not nil, returns the reason why OpenTofu must not install a provider
	// from the user's oci_mirror, or "". The reason is a clause such as "its releases
	// require approval, which OpenTofu does not check". If there is a reason, and no
	// lock file selects the provider, Run returns an error.
	MustLock func(ctx context.Context, a provider.Address) (reason string, err error)
	// Concurrency is the maximum number of concurrent transfers. If 0,
	// [DefaultConcurrency] is used.
	Concurrency int
	// Platform is the platform of the packages. If it is the zero value, this machine's
	// platform is used.
	Platform provider.Platform
	// Backoff returns the delay after the given number of failures. If nil, the delay
	// starts at half a second and doubles.
	Backoff func(failed int) time.Duration
	// Progress reports the progress of transfers.
	Progress provider.Progress
	// Left, if not nil, is called for each provider that is left to the user's
	// configuration. Possible reasons are that the provider exists only unpacked in a
	// filesystem_mirror, that no lock file selects it and OnlyLocked isn't set, that it
	// is neither available nor required, or that OpenTofu uses its successor.
	Left func(a provider.Address, reason string)
	// Unresolved, if not nil, is called for each module call that cannot be resolved,
	// provided that the command might install providers. The module can require
	// providers that no lock file selects.
	Unresolved func(c configuration.Call)

	// Offline, if not nil, restricts the command to a bundle. It implies OnlyLocked.
	Offline *Offline

	// Environment is used to find the user's CLI configuration. If Config is not empty,
	// only the file with this path is read. The command determines whether the rules of
	// OpenTofu or Terraform apply.
	Environment cliconfig.Environment
	Config      string
	// Environ is the environment of the child. Variables that specify a CLI
	// configuration, or allow unverified packages in a plugin cache, are removed. If
	// nil, the environment of the process is used.
	Environ []string
	// Stdin, Stdout, and Stderr are passed to the child.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Starting, if not nil, is called before the child starts.
	Starting func()

	// timeouts is [defaultTimeouts] except in tests.
	timeouts timeouts
}

// Run starts a command that finds the selected packages in the store, waits until the
// command exits, and returns its exit code. If a signal terminated the command, the
// code is 128 plus the signal number. While the command runs, signals are forwarded to
// it, and ctx has no effect. If Run returns an error, the command did not run, temporary
// files could not be removed, or, for an *[UnlockedError], init failed. If the command
// could not be started, the error is a *[StartError].
func Run(ctx context.Context, o Options) (code int, err error) {
	o = o.complete()
	if len(o.Command) == 0 {
		return 0, errors.New("no command to run")
	}
	program, err := find(o.Command[0], o.Dir)
	if err != nil {
		return 0, err
	}
	// 1. Determine the selected packages, except those under development.
	config, err := readConfiguration(ctx, o)
	if err != nil {
		return 0, err
	}
	wanted, err := o.selections(ctx, config)
	if err != nil {
		return 0, err
	}
	oci, err := o.keepsOCI(ctx, config, program, wanted)
	if err != nil {
		return 0, err
	}
	// 2. Fetch the packages into the store.
	mirror, err := o.mirror(ctx, config, wanted)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, mirror.Close()) }()
	// 3. Write a CLI configuration that uses the packages.
	path, err := config.write(o, mirror, oci)
	if err != nil {
		return 0, fmt.Errorf("writing the CLI configuration: %w", err)
	}
	defer func() { err = errors.Join(err, os.Remove(path)) }()
	if err := mirror.unlink(config, o.Store); err != nil {
		return 0, err
	}
	// 4. Run the child.
	o.addCopies(ctx, config, mirror.packages)
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	o.Starting()
	environ := environment(o.Environ, path)
	if o.Offline != nil {
		environ = o.Offline.environment(environ)
	}
	code, err = child{o, program, environ}.run()
	if err == nil && code == codeFailed {
		err = o.explainFailure(ctx, config, wanted)
	}
	return code, err
}

// complete returns the options with defaults for empty fields.
func (o Options) complete() Options {
	if o.Platform == (provider.Platform{}) {
		o.Platform = provider.CurrentPlatform()
	}
	if o.Concurrency <= 0 {
		o.Concurrency = DefaultConcurrency
	}
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	if o.timeouts == (timeouts{}) {
		o.timeouts = defaultTimeouts()
	}
	if o.Environment.Getenv == nil {
		o.Environment.Getenv = func(string) string { return "" }
	}
	if o.Reading == nil {
		getenv := o.Environment.Getenv
		o.Reading = func(terraform bool) configuration.Options {
			return configuration.Options{DataDir: getenv("TF_DATA_DIR"), Terraform: terraform}
		}
	}
	if o.Offline != nil {
		o = o.Offline.complete(o)
	}
	if o.Starting == nil {
		o.Starting = func() {}
	}
	if o.Locked == nil {
		o.Locked = func(lock.Change) {}
	}
	if o.Left == nil {
		o.Left = func(provider.Address, string) {}
	}
	if o.Unresolved == nil {
		o.Unresolved = func(configuration.Call) {}
	}
	return o
}

// environment returns the child's environment. config is its CLI configuration file.
func environment(environ []string, config string) []string {
	const named = "TF_CLI_CONFIG_FILE"
	environ = slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains([]string{named, "TERRAFORM_CONFIG", "TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE"}, name)
	})
	return append(environ, named+"="+config)
}
