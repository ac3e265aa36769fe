package cliconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ConfigFile is a potential location of the configuration.
type ConfigFile struct {
	Path string
	// Why explains which rule defines the location.
	Why string
	// Found reports whether the file or directory exists.
	Found bool
	// Chosen reports whether to read the file. A file that the environment specifies is
	// chosen even if it doesn't exist.
	Chosen bool
	// Ignored reports whether an environment variable specifies a different file
	// instead.
	Ignored bool
	// Err is the error from checking the location. It is nil if the file exists or is
	// missing.
	Err error
}

// Files contains the locations of a configuration in order of precedence. It includes
// locations that are not read.
type Files []ConfigFile

// Read reports whether the file is part of the configuration.
func (p ConfigFile) Read() bool { return p.Chosen && p.Found }

// Chosen returns the paths of the files to read.
func (f Files) Chosen() []string {
	var paths []string
	for _, p := range f {
		if p.Chosen {
			paths = append(paths, p.Path)
		}
	}
	return paths
}

// read parses the chosen files that exist.
func (f Files) read() ([]file, error) {
	var files []file
	var problems []error
	for _, p := range f {
		if !p.Read() {
			continue
		}
		read, err := readFile(p.Path)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		files = append(files, read)
	}
	return files, errors.Join(problems...)
}

// Locate finds the configuration files. If explicit is not empty, it is the only file
// and must exist. Otherwise, if TF_CLI_CONFIG_FILE specifies a file, that file is the
// only file, and an existing main file is ignored. In every other case, the files are
// the main file and the *.tfrc and *.tfrc.json files in the configuration directory.
func Locate(e Environment, explicit string) (Files, error) {
	if explicit != "" {
		p := look(explicit, "specified explicitly")
		if p.Err != nil || !p.Found {
			_, err := os.Stat(explicit)
			return nil, fmt.Errorf("reading the CLI configuration: %w", err)
		}
		p.Chosen = true
		return Files{p}, nil
	}
	for _, name := range []string{"TF_CLI_CONFIG_FILE", "TERRAFORM_CONFIG"} {
		if path := e.getenv(name); path != "" {
			files := Files{look(path, "specified by "+name)}
			files[0].Chosen = true
			for _, p := range e.mainFiles() {
				if p.Chosen {
					files = append(files, ConfigFile{Path: p.Path, Why: "ignored because " + name + " is set", Found: true, Ignored: true})
				}
			}
			return files, nil
		}
	}
	files := e.mainFiles()
	directory, found := e.directory()
	files = append(files, directory...)
	if !found {
		return files, nil
	}
	path := directory[len(directory)-1].Path
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("reading the CLI configuration: %w", err)
	}
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), ".tfrc") || strings.HasSuffix(entry.Name(), ".tfrc.json") {
			files = append(files, ConfigFile{Path: filepath.Join(path, entry.Name()), Why: "in the configuration directory", Found: true, Chosen: true})
		}
	}
	return files, nil
}

// mainFiles returns the possible main files and selects the first existing file.
// Terraform supports only the old name.
func (e Environment) mainFiles() Files {
	var files Files
	if e.OS == "windows" {
		if data := e.getenv("APPDATA"); data != "" {
			files = Files{
				look(filepath.Join(data, "tofu.rc"), "in APPDATA"),
				look(filepath.Join(data, "terraform.rc"), "in APPDATA, under its old name"),
			}
		}
	} else if e.Home != "" {
		files = Files{
			look(filepath.Join(e.Home, ".tofurc"), "in the home directory"),
			look(filepath.Join(e.Home, ".terraformrc"), "in the home directory, under its old name"),
		}
		if xdg := e.getenv("XDG_CONFIG_HOME"); xdg != "" {
			files = append(files, look(filepath.Join(xdg, "opentofu", "tofurc"), "in XDG_CONFIG_HOME"))
		}
	}
	if e.Terraform && len(files) > 1 {
		files = files[1:2]
	}
	for i := range files {
		if files[i].Found {
			files[i].Chosen = true
			break
		}
	}
	return files
}

// directory returns the possible configuration directories. If found is true, the last
// of these directories is the configuration directory.
func (e Environment) directory() (looked Files, found bool) {
	add := func(why string, elements ...string) bool {
		p := look(filepath.Join(elements...), why)
		looked = append(looked, p)
		return p.Found
	}
	const why = "the configuration directory"
	isDir := func() bool {
		info, err := os.Stat(looked[len(looked)-1].Path)
		return err == nil && info.IsDir()
	}
	if e.OS == "windows" {
		data := e.getenv("APPDATA")
		return looked, data != "" && add(why, data, "terraform.d") && isDir()
	}
	if e.Home == "" {
		return nil, false
	}
	// If the path exists but is a file, the second location is still not used.
	if add(why, e.Home, ".terraform.d") {
		return looked, isDir()
	}
	xdg := e.getenv("XDG_CONFIG_HOME")
	return looked, xdg != "" && !e.Terraform && add(why+" in XDG_CONFIG_HOME", xdg, "opentofu") && isDir()
}

// look checks whether a path exists.
func look(path, why string) ConfigFile {
	_, err := os.Stat(path)
	p := ConfigFile{Path: path, Why: why, Found: err == nil}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.Err = err
	}
	return p
}
