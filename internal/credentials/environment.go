package credentials

import (
	"os"
	"os/user"
	"runtime"
)

// Environment determines the locations of credentials files.
type Environment struct {
	// OS is a GOOS value.
	OS string
	// Home is the user's home directory. If empty, files in the home directory are not
	// used.
	Home string
	// UID is the user ID. It determines the location of Podman's files outside a login
	// session.
	UID int
	// Getenv returns an environment variable's value, or "" if the variable is not set.
	Getenv func(name string) string
}

// SystemEnvironment returns the environment of the process.
func SystemEnvironment() Environment {
	home, err := os.UserHomeDir()
	if err != nil || home == "" {
		// Services can run without $HOME.
		if u, err := user.Current(); err == nil {
			home = u.HomeDir
		}
	}
	return Environment{OS: runtime.GOOS, Home: home, UID: os.Getuid(), Getenv: os.Getenv}
}
