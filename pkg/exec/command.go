package exec

import (
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// tool is a program whose arguments are known.
type tool string

const (
	toolOpenTofu   tool = "tofu"
	toolTerraform  tool = "terraform"
	toolTerragrunt tool = "terragrunt"
)

// toolOf tells which one a command is, by its name, which may end in a version, as
// terraform1.5.7 does.
func toolOf(command []string) tool {
	name := strings.TrimSuffix(strings.ToLower(filepath.Base(command[0])), ".exe")
	return tool(strings.TrimRight(name, "-_v.0123456789"))
}

// WorkDir is the directory that a command works in when it is started in dir: what
// tofu and terraform are told by -chdir, and terragrunt by --working-dir, or in the
// environment. The command must not be empty.
func WorkDir(command []string, dir string, getenv func(string) string) string {
	named := ""
	switch args := command[1:]; toolOf(command) {
	case toolOpenTofu, toolTerraform:
		// It stands before the subcommand.
		for _, arg := range args {
			if !strings.HasPrefix(arg, "-") {
				break
			}
			if value, is := strings.CutPrefix(arg, "-chdir="); is {
				named = value
			}
		}
	case toolTerragrunt:
		for _, name := range []string{"TERRAGRUNT_WORKING_DIR", "TG_WORKING_DIR"} {
			if value := getenv(name); value != "" {
				named = value
			}
		}
		for i, arg := range args {
			name, value, given := strings.Cut(strings.TrimLeft(arg, "-"), "=")
			switch {
			case !strings.HasPrefix(arg, "-") || name != "working-dir" && name != "terragrunt-working-dir":
			case given:
				named = value
			case i+1 < len(args):
				named = args[i+1]
			}
		}
	}
	return cliconfig.ResolvePath(dir, named)
}

// Exit codes of commands that did not start, as shells give them.
const (
	codeNotFound      = 127
	codeNotExecutable = 126
)

// StartError says that a command could not be started.
type StartError struct {
	Command string
	// Code is what a shell exits with: 127 for a command that does not exist, 126 for
	// one that is no program.
	Code int
	Err  error
}

func (e *StartError) Error() string {
	if errors.Is(e.Err, exec.ErrNotFound) {
		return fmt.Sprintf("running %s: there is no such program in PATH", e.Command)
	}
	return fmt.Sprintf("running %s: %v", e.Command, e.Err)
}

// Kind is [provider.Misuse].
func (e *StartError) Kind() provider.ErrorKind { return provider.Misuse }

func (e *StartError) Unwrap() error { return e.Err }

func startError(command string, err error) *StartError {
	e := &StartError{Command: command, Code: codeNotExecutable, Err: err}
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		e.Code = codeNotFound
	}
	return e
}

// find returns the path of a program, by PATH or from the directory that it is started
// in.
func find(name, dir string) (string, error) {
	path := name
	if filepath.Base(name) != name && !filepath.IsAbs(name) {
		absolute, err := filepath.Abs(cliconfig.ResolvePath(dir, name))
		if err != nil {
			return "", startError(name, err)
		}
		path = absolute
	}
	found, err := exec.LookPath(path)
	if err != nil {
		if inner, ok := errors.AsType[*exec.Error](err); ok {
			err = inner.Err
		}
		return "", startError(name, err)
	}
	return found, nil
}
