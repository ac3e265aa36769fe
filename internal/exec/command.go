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

// tool is the name of a program whose arguments this package interprets.
type tool string

const (
	toolOpenTofu   tool = "tofu"
	toolTerraform  tool = "terraform"
	toolTerragrunt tool = "terragrunt"
)

// toolOf returns the tool that a command runs, based on the command's name. The name
// can end in a version, such as terraform1.5.7.
func toolOf(command []string) tool {
	name := strings.TrimSuffix(strings.ToLower(filepath.Base(command[0])), ".exe")
	return tool(strings.TrimRight(name, "-_v.0123456789"))
}

// WorkDir returns the working directory of a command that is started in dir. It
// respects -chdir of tofu and terraform, and --working-dir and the environment
// variables of terragrunt. The command must not be empty.
func WorkDir(command []string, dir string, getenv func(string) string) string {
	named := ""
	switch args := command[1:]; toolOf(command) {
	case toolOpenTofu, toolTerraform:
		// The flag precedes the subcommand.
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

// codeFailed is the exit code of tofu and terraform after an error.
const codeFailed = 1

// Exit codes of commands that could not be started, as in shells.
const (
	codeNotFound      = 127
	codeNotExecutable = 126
)

// StartError reports that a command could not be started.
type StartError struct {
	Command string
	// Code is the exit code that a shell would return. It is 127 if the command doesn't
	// exist, and 126 if the command can't be executed.
	Code int
	Err  error
}

func (e *StartError) Error() string {
	if errors.Is(e.Err, exec.ErrNotFound) {
		return fmt.Sprintf("running %s: program not found in PATH", e.Command)
	}
	return fmt.Sprintf("running %s: %v", e.Command, e.Err)
}

// Kind returns [provider.Misuse].
func (e *StartError) Kind() provider.ErrorKind { return provider.Misuse }

func (e *StartError) Unwrap() error { return e.Err }

func startError(command string, err error) *StartError {
	e := &StartError{Command: command, Code: codeNotExecutable, Err: err}
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		e.Code = codeNotFound
	}
	return e
}

// find returns the path of a program. It looks up plain names in PATH, and relative
// paths in dir.
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
