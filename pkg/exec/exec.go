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

	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/configuration"
	"github.com/tofu-oci/tofu-oci/pkg/lock"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/store"
)

// DefaultConcurrency is how many zips move at once.
const DefaultConcurrency = 4

// Options of [Run]. Command, Source and Store are needed.
type Options struct {
	// Command is the program and its arguments.
	Command []string
	// Dir is the directory that it is started in; empty is the process's own.
	Dir string
	// LockFiles are those whose selections the command will find; none means the one
	// in the directory that it works in, see [WorkDir].
	LockFiles []string
	// Lock, if not nil, configures the lock file that Run creates if the directory has
	// none. Run sets Verify, Configuration, and Skip. If the directory has no configuration
	// either, tofu and terraform are run without lock file, because commands such as
	// version don't need one. Otherwise, a missing lock file is [lock.ErrNoFile].
	Lock *lock.FileOptions
	// Locked, if not nil, is called with the result of creating the lock file.
	Locked func(lock.Change)

	// Source is where packages come from that the store does not have.
	Source provider.Source
	// Store is where they are kept.
	Store *store.Store
	// Verify verifies the signature of a release; its error ends the run. The methods of
	// trust.Policy are such functions. If nil, no signatures are verified. Each run
	// verifies each package; for packages in the store, it uses the evidence that is
	// stored with them. Before such a package is refused, Run requests newer evidence
	// from the source.
	Verify func(ctx context.Context, r provider.Release) (provider.Verdict, error)
	// Reading returns the options to read the configuration that is compared with the lock
	// files. If nil, only the data directory and the program's rules are set.
	Reading func(terraform bool) configuration.Options
	// OnlyLocked refuses to start a command that could install a required provider that
	// no lock file selects. Set it if Verify requires more than the command checks.
	OnlyLocked bool
	// Approves reports whether the repository of the user's oci_mirror has pending or
	// denied releases of a provider. OpenTofu ignores approvals, so such a provider must
	// be locked. May be nil.
	Approves func(ctx context.Context, a provider.Address) (bool, error)
	// Concurrency is how many zips move at once; 0 is [DefaultConcurrency].
	Concurrency int
	// Platform is that of the packages; the zero value is this machine's.
	Platform provider.Platform
	// Backoff is the pause after the given number of failures; nil doubles from half a
	// second.
	Backoff func(failed int) time.Duration
	// Progress is told what moves.
	Progress provider.Progress
	// Left is called with each provider that is left to the user's configuration, and the
	// reason: a filesystem_mirror has it only unpacked, no lock file selects it, or it is
	// neither available nor required. May be nil.
	Left func(a provider.Address, why string)

	// Environment has the user's CLI configuration, and Config is a file that takes
	// its place; empty is none. Which program's rules count, depends on the command.
	Environment cliconfig.Environment
	Config      string
	// Environ is the environment of the child, of which the places of a configuration
	// and of a plugin cache are left out; nil is that of the process.
	Environ []string
	// Stdin, Stdout and Stderr are the child's.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Starting is called before the child starts. May be nil.
	Starting func()
}

// Run starts a command that finds what its lock files select in the store, waits for
// it, and gives its exit code; 128 and the signal's number when a signal ended it.
// Signals are for the child as long as it runs, whatever ctx says. The error is about
// what went wrong before, a *[StartError] when that was the start.
func Run(ctx context.Context, o Options) (code int, err error) {
	o = o.complete()
	if len(o.Command) == 0 {
		return 0, errors.New("there is no command to run")
	}
	program, err := find(o.Command[0], o.Dir)
	if err != nil {
		return 0, err
	}
	// 1. What the lock files select, but for what the user develops.
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
	// 2. The packages, in the store.
	mirror, err := o.mirror(ctx, config, wanted)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, mirror.Close()) }()
	// 3. A configuration that leads there.
	path, err := config.write(o, mirror, oci)
	if err != nil {
		return 0, fmt.Errorf("writing the CLI configuration: %w", err)
	}
	defer func() { err = errors.Join(err, os.Remove(path)) }()
	if err := mirror.unlink(config, o.Store); err != nil {
		return 0, err
	}
	// 4. The child.
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	o.Starting()
	return child{o, program, environment(o.Environ, path)}.run()
}

// complete puts defaults where there is nothing.
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
	if o.Environment.Getenv == nil {
		o.Environment.Getenv = func(string) string { return "" }
	}
	if o.Reading == nil {
		getenv := o.Environment.Getenv
		o.Reading = func(terraform bool) configuration.Options {
			return configuration.Options{DataDir: getenv("TF_DATA_DIR"), Terraform: terraform}
		}
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
	return o
}

// environment is the child's.
func environment(environ []string, config string) []string {
	const named = "TF_CLI_CONFIG_FILE"
	environ = slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains([]string{named, "TERRAFORM_CONFIG", "TF_PLUGIN_CACHE_DIR"}, name)
	})
	return append(environ, named+"="+config)
}
