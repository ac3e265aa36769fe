package cliconfig

import (
	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"path/filepath"
	"runtime"
)

// CredentialsHelper is a credentials_helper block: a program that knows the
// tokens of hosts, terraform-credentials-NAME.
type CredentialsHelper struct {
	Position stricthcl.Position
	Name     string
	// Args stand in front of the arguments that OpenTofu adds.
	Args []string
}

// credentialsHelper reads: credentials_helper "NAME" { args = ["…"] }.
func (r *reader) credentialsHelper(m member) CredentialsHelper {
	h := CredentialsHelper{Position: m.at, Name: m.key.text}
	args, _ := r.texts(m.body, "args")
	for _, arg := range args {
		h.Args = append(h.Args, arg.text)
	}
	return h
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
