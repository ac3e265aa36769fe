package credentials

import (
	"cmp"
	"os"
	"os/user"
	"runtime"
	"time"
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
	// timeouts is [defaultTimeouts] except in tests.
	timeouts timeouts
}

// timeouts limits the duration of one call of a helper.
type timeouts struct {
	// get is long enough for a helper to fetch a token. It is too short for user input,
	// which fetching a token should not require.
	get time.Duration
	// store is long enough for the user to unlock a keychain. It also applies to erase.
	store time.Duration
}

func defaultTimeouts() timeouts { return timeouts{get: 30 * time.Second, store: 2 * time.Minute} }

// helperTimeouts returns the timeouts for helpers.
func (e Environment) helperTimeouts() timeouts { return cmp.Or(e.timeouts, defaultTimeouts()) }

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
