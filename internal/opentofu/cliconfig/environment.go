package cliconfig

import (
	"os"
	"os/user"
	"path/filepath"
	"runtime"
)

// Environment is what the places of the configuration depend on. It says which
// system's rules count; paths are joined as this machine writes them. The zero
// value has no places at all.
type Environment struct {
	// OS is the operating system in Go's word: linux, darwin, windows.
	OS string
	// Home is the user's home directory, which Windows' rules don't use; empty
	// when there is none.
	Home string
	// WorkDir is the working directory; empty for the process's own.
	WorkDir string
	// Terraform goes by Terraform's rules where OpenTofu has files and directories
	// of its own.
	Terraform bool
	// Getenv looks a variable of the environment up; nil means that none is set.
	Getenv func(name string) string
}

// SystemEnvironment is that of this process.
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

// PluginDirs are the directories that hold providers when there is no
// provider_installation block, most important first. They need not exist, and
// are laid out as a filesystem_mirror.
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
	// From here on it is Terraform's name that counts, as OpenTofu has it.
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

// HelperDirs are the directories that OpenTofu looks for the program of a
// credentials_helper block in, most important first. PATH is none of them.
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
