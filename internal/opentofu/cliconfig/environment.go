package cliconfig

import (
	"os"
	"os/user"
	"path/filepath"
	"runtime"
)

// Environment determines the locations of configuration files and plugins. It can
// describe a different operating system, but its paths always use this machine's
// separators. The zero value has no locations.
type Environment struct {
	// OS is the operating system as a GOOS value, such as linux, darwin, or windows.
	OS string
	// Home is the user's home directory. It can be empty, and is not used on Windows.
	Home string
	// WorkDir is the working directory. If empty, the process's working directory is
	// used.
	WorkDir string
	// Terraform selects Terraform's rules instead of OpenTofu's.
	Terraform bool
	// Getenv returns the value of an environment variable. If nil, no variables are set.
	Getenv func(name string) string
}

// SystemEnvironment returns the environment of this process.
func SystemEnvironment() Environment {
	home := os.Getenv("HOME")
	if home == "" {
		if u, err := user.Current(); err == nil {
			home = u.HomeDir
		}
	}
	return Environment{OS: runtime.GOOS, Home: home, Getenv: os.Getenv}
}

func (e Environment) getenv(name string) string {
	if e.Getenv == nil {
		return ""
	}
	return e.Getenv(name)
}

// PluginDirs returns the directories that OpenTofu uses if the configuration has no
// provider_installation block, in order of precedence. The directories have the
// structure of a filesystem_mirror. They might not exist.
func (e Environment) PluginDirs() []string {
	var dirs []string
	add := func(elements ...string) { dirs = append(dirs, filepath.Join(append(elements, "plugins")...)) }
	add(e.WorkDir, "terraform.d")
	if e.OS == "windows" {
		roaming := e.getenv("APPDATA")
		if roaming != "" {
			add(roaming, "terraform.d")
		} else {
			roaming = e.getenv("LOCALAPPDATA")
		}
		if roaming != "" {
			add(roaming, "HashiCorp", "Terraform")
		}
		return dirs
	}
	if e.Home != "" {
		add(e.Home, ".terraform.d")
	}
	data := e.getenv("XDG_DATA_HOME")
	if data != "" && !e.Terraform {
		add(data, "opentofu")
	}
	// OpenTofu also uses the following directories, although their names contain
	// "terraform".
	if e.OS == "darwin" {
		const support, bundle = "Application Support", "io.terraform"
		if e.Home != "" {
			add(e.Home, "Library", support, bundle)
		}
		add("/", "Library", support, bundle)
		return dirs
	}
	if !filepath.IsAbs(data) && e.Home != "" {
		data = filepath.Join(e.Home, ".local", "share")
	}
	if filepath.IsAbs(data) {
		add(data, "terraform")
	}
	shared := e.getenv("XDG_DATA_DIRS")
	if shared == "" {
		add("/usr/local/share", "terraform")
		add("/usr/share", "terraform")
	}
	for _, dir := range filepath.SplitList(shared) {
		if filepath.IsAbs(dir) {
			add(dir, "terraform")
		}
	}
	return dirs
}

// HelperDirs returns the directories that OpenTofu searches for the program of a
// credentials_helper block, in order of precedence. OpenTofu does not search PATH.
func (e Environment) HelperDirs() []string {
	var dirs []string
	add := func(elements ...string) {
		plugins := filepath.Join(append(elements, "plugins")...)
		dirs = append(dirs, plugins, filepath.Join(plugins, e.OS+"_"+runtime.GOARCH))
	}
	if e.OS == "windows" {
		if roaming := e.getenv("APPDATA"); roaming != "" {
			add(roaming, "terraform.d")
		}
		return dirs
	}
	if e.Home != "" {
		add(e.Home, ".terraform.d")
	}
	if data := e.getenv("XDG_DATA_HOME"); data != "" {
		add(data, "opentofu")
	}
	return dirs
}
