package git

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/extprog"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// repository is a temporary bare repository.
type repository struct{ dir string }

// settings override the user's configuration. The user's other settings still apply,
// because they can configure credential helpers, proxies, and CA files.
var settings = []string{
	"core.hooksPath=" + os.DevNull,
	"hook.reference-transaction.enabled=false", // since git 2.54, hooks can be settings
	"core.fsmonitor=false",
	"core.bigFileThreshold=16m", // larger files are not loaded into memory
	"fetch.unpackLimit=1",       // always write a pack, whose size can be watched
	"fetch.writeCommitGraph=false",
	"gc.auto=0",
	"maintenance.auto=false",
	"pack.threads=2",
	"transfer.bundleURI=false", // servers must not choose additional URLs
}

// allocationLimit is the maximum size of a single allocation by git. A small delta can
// describe an object of any size.
const allocationLimit = "256m"

// repositoryVariables contains the environment variables that select a different
// repository or replace its objects. See git rev-parse --local-env-vars.
var repositoryVariables = []string{
	"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_CEILING_DIRECTORIES", "GIT_COMMON_DIR", "GIT_CONFIG", "GIT_DIR", "GIT_GRAFT_FILE",
	"GIT_INDEX_FILE", "GIT_NAMESPACE", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX", "GIT_REPLACE_REF_BASE", "GIT_SHALLOW_FILE", "GIT_WORK_TREE",
}

// environment returns git's environment. It allows two transports and no prompts. If
// the user has not set GIT_SSH_COMMAND or GIT_SSH, ssh never asks for a password.
func (r repository) environment() []string {
	var env []string
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if !containsFold(repositoryVariables, name) {
			env = append(env, variable)
		}
	}
	if os.Getenv("GIT_SSH_COMMAND") == "" && os.Getenv("GIT_SSH") == "" {
		env = append(env, "GIT_SSH_COMMAND=ssh -o BatchMode=yes")
	}
	return append(env, "GIT_DIR="+r.dir, "GIT_ALLOW_PROTOCOL=https:ssh", "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS_REQUIRE=never",
		"GCM_INTERACTIVE=never", "GIT_NO_REPLACE_OBJECTS=1", "GIT_OPTIONAL_LOCKS=0", "GIT_ALLOC_LIMIT="+allocationLimit, "LC_ALL=C")
}

func containsFold(names []string, name string) bool {
	for _, n := range names {
		if strings.EqualFold(n, name) { // Windows ignores case
			return true
		}
	}
	return false
}

// command returns a git command for the repository.
func (r repository) command(ctx context.Context, arguments ...string) (*exec.Cmd, error) {
	path, err := exec.LookPath("git")
	if err != nil {
		return nil, fmt.Errorf("running git: %w", extprog.ErrNotFound)
	}
	var all []string
	for _, setting := range settings {
		all = append(all, "-c", setting)
	}
	cmd := exec.CommandContext(ctx, path, append(all, arguments...)...)
	cmd.Dir, cmd.Env = r.dir, r.environment()
	return cmd, nil
}

// maxOutput limits the output of run. git ls-remote prints all refs that end with the
// requested name.
const maxOutput = 1 << 20

// run runs git and returns its output.
func (r repository) run(ctx context.Context, arguments ...string) (out []byte, err error) {
	err = r.read(ctx, nil, func(from *bufio.Reader) (err error) {
		if out, err = io.ReadAll(io.LimitReader(from, maxOutput+1)); len(out) > maxOutput {
			err = fmt.Errorf("%w: git %s printed more than %d bytes", ErrLimit, arguments[0], maxOutput)
		}
		return err
	}, arguments...)
	return out, err
}

// read runs git and calls consume with its output. If consume returns before the end of
// the output, git is killed.
func (r repository) read(ctx context.Context, input []byte, consume func(*bufio.Reader) error, arguments ...string) error {
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd, err := r.command(running, arguments...)
	if err != nil {
		return err
	}
	out, in := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		stderr := &extprog.Tail{}
		err := extprog.Execute(cmd, input, in, stderr)
		if err != nil {
			err = failed(ctx, arguments[0], err, stderr.Text())
		}
		_ = in.CloseWithError(err)
	}()
	err = consume(bufio.NewReaderSize(out, maxLine))
	cancel()
	_ = out.Close()
	<-done
	return err
}

// reasons maps parts of git's messages to kinds of errors.
var reasons = []struct {
	part string
	kind provider.ErrorKind
}{
	{"couldn't find remote ref", provider.NotFound},
	{"not our ref", provider.NotFound},
	{"not found", provider.NotFound},
	{"could not read Username", provider.Denied},
	{"could not read Password", provider.Denied},
	{"Authentication failed", provider.Denied},
	{"Permission denied", provider.Denied},
	{"requested URL returned error: 403", provider.Denied},
	{"over limit", provider.Refused},
}

// failed returns an error that explains why a git command failed. stderr contains
// messages from the server.
func failed(ctx context.Context, command string, err error, stderr string) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return fmt.Errorf("running git %s: %w", command, err)
	}
	for _, reason := range reasons {
		if strings.Contains(stderr, reason.part) && reason.kind == provider.Denied {
			return fmt.Errorf("%w: git %s: %s", ErrAccess, command, stderr)
		}
		if strings.Contains(stderr, reason.part) {
			return provider.Errorf(reason.kind, "git %s: %s", command, stderr)
		}
	}
	return fmt.Errorf("git %s: %s: %s", command, exit.ProcessState, stderr)
}
