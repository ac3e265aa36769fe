package cliconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Place is a file or directory that OpenTofu's rules name.
type Place struct {
	Path string
	// Why says which rule names it.
	Why string
	// Found tells that it is there.
	Found bool
	// Chosen tells that it is a file to be read. One that the environment names
	// is chosen even where it is not there.
	Chosen bool
	// Err is why it could not be looked at; nil when it is there or is not.
	Err error
}

// Files are the places of a configuration in the order in which they count:
// those that are read, and those that were looked at.
type Files []Place

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

// read parses the files that are chosen and exist.
func (f Files) read() ([]file, error) {
	var files []file
	var problems []error
	for _, p := range f {
		if !p.Chosen || !p.Found {
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

// Locate finds the files of the configuration. A file that is named explicitly
// must be there and is the only one, as is one that TF_CLI_CONFIG_FILE names;
// else it is the main file, and the *.tfrc and *.tfrc.json files in the
// configuration directory.
func Locate(e Environment, explicit string) (Files, error) {
	if explicit != "" {
		p := look(explicit, "named explicitly")
		if p.Err != nil || !p.Found {
			_, err := os.Stat(explicit)
			return nil, fmt.Errorf("reading the CLI configuration: %w", err)
		}
		p.Chosen = true
		return Files{p}, nil
	}
	for _, name := range []string{"TF_CLI_CONFIG_FILE", "TERRAFORM_CONFIG"} {
		if path := e.getenv(name); path != "" {
			p := look(path, name+" names it")
			p.Chosen = true
			return Files{p}, nil
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
			files = append(files, Place{Path: filepath.Join(path, entry.Name()), Why: "in the configuration directory", Found: true, Chosen: true})
		}
	}
	return files, nil
}

// mainFiles looks for the main file, and chooses the first that is there. Terraform
// knows the old name alone.
func (e Environment) mainFiles() Files {
	var files Files
	if e.OS == "windows" {
		if data := e.getenv("APPDATA"); data != "" {
			files = Files{
				look(filepath.Join(data, "tofu.rc"), "in APPDATA"),
				look(filepath.Join(data, "terraform.rc"), "in APPDATA, by its old name"),
			}
		}
	} else if e.Home != "" {
		files = Files{
			look(filepath.Join(e.Home, ".tofurc"), "in the home directory"),
			look(filepath.Join(e.Home, ".terraformrc"), "in the home directory, by its old name"),
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

// directory looks for the configuration directory, which is the last of those
// that it gives, if found.
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
	// A file of that name is no directory, and yet keeps the other from being one.
	if add(why, e.Home, ".terraform.d") {
		return looked, isDir()
	}
	xdg := e.getenv("XDG_CONFIG_HOME")
	return looked, xdg != "" && !e.Terraform && add(why+" in XDG_CONFIG_HOME", xdg, "opentofu") && isDir()
}

// look reports whether something is at a path.
func look(path, why string) Place {
	_, err := os.Stat(path)
	p := Place{Path: path, Why: why, Found: err == nil}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.Err = err
	}
	return p
}
