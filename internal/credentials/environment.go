package credentials

import (
	"os"
	"os/user"
	"runtime"
)

// Environment is what the places of login files depend on.
type Environment struct {
	// OS is a GOOS.
	OS string
	// Home is the user's home directory. Empty leaves out the places in it.
	Home string
	// UID is the user's number, for Podman's files outside of a session.
	UID int
	// Getenv returns an environment variable, or "" if it is not set.
	Getenv func(name string) string
}

// SystemEnvironment returns the environment of this process.
func SystemEnvironment() Environment {
	home, err := os.UserHomeDir()
	if err != nil || home == "" {
		// Services may run without $HOME.
		if u, err := user.Current(); err == nil {
			home = u.HomeDir
		}
	}
	return Environment{OS: runtime.GOOS, Home: home, UID: os.Getuid(), Getenv: os.Getenv}
}
