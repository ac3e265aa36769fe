package cliconfig

import (
	"errors"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Mirrored says which providers a program is to find in a directory, whatever its
// user's configuration says of them.
type Mirrored struct {
	// Dir is a filesystem_mirror, absolute.
	Dir string
	// Providers come from there and from nowhere else.
	Providers []provider.Address
	// PluginCacheDir takes the place of the user's. When it is empty there is none:
	// in a plugin cache that outlives Dir would be links to it.
	PluginCacheDir string
	// WorkDir is the directory that the program runs in, absolute.
	WorkDir string
	// OCI keeps oci_mirror blocks and credentials for OCI registries. The program must be
	// OpenTofu 1.10 or later, because others refuse these blocks.
	OCI bool
}

// Rewrite writes one file with what the user's files say, for a program that takes
// some providers from a directory: those are excluded from all other methods. Blocks
// about OCI are left out unless [Mirrored] OCI is set. Relative paths become absolute.
// Settings that are unknown here stay as they are.
//
// The file may hold tokens. Errors are those of [Read].
func Rewrite(e Environment, files Files, m Mirrored) ([]byte, error) {
	w := rewriter{mirrored: m, once: map[string]*item{}, members: map[string][]keyed{}, logins: map[string][]block{}}
	var problems []error
	// 1. What all files say, as OpenTofu puts it together.
	for _, path := range files.Chosen() {
		if i := slices.IndexFunc(files, func(p Place) bool { return p.Path == path }); !files[i].Found || files[i].Err != nil {
			continue // OpenTofu goes on without it
		}
		d, err := read(path)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		w.add(d)
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	// 2. How providers are installed.
	if w.installation == nil {
		e.WorkDir = m.WorkDir
		w.installation = implied(e.PluginDirs())
	}
	// 3. All of it.
	p := &printer{}
	p.line("# Written by tofu-oci for one run of a program.")
	w.print(p)
	if err := p.err(); err != nil {
		return nil, err
	}
	return []byte(p.String()), nil
}

// rewriter collects what files say.
type rewriter struct {
	mirrored Mirrored
	// names are those of once, in the order in which they came.
	names []string
	// once has the settings that may be there once.
	once map[string]*item
	// members has the blocks of one host each, by their names.
	members map[string][]keyed
	// rest is what may be there several times, and means nothing to us.
	rest []item
	// logins has the blocks with credentials for OCI registries, by name.
	logins       map[string][]block
	installation []block
}

// keyed is a block with a label, and the file that it came from.
type keyed struct {
	file string
	member
}

// add takes what a file says. Of host and credentials blocks for one host those of
// the last file count, of settings the first file's last one, and of switches any
// that is on.
func (w *rewriter) add(d document) {
	r := &reader{json: d.json}
	own := map[string]*item{}
	for _, i := range d.items {
		switch name := strings.ToLower(i.name); {
		case name == "plugin_cache_dir":
		case i.name == "oci_credentials":
			w.logins[i.name] = append(w.logins[i.name], r.labeled(i, "")...)
		case i.name == "oci_default_credentials":
			w.logins[i.name] = append(w.logins[i.name], r.blocks(i)...)
		case i.name == "provider_installation":
			w.installation = r.blocks(i)
			for b := range w.installation {
				w.installation[b].body = slices.DeleteFunc(slices.Clone(w.installation[b].body), w.leavesOut)
			}
		case slices.Contains([]string{"host", "credentials", "credentials_helper"}, name):
			for _, m := range r.members(i, "") {
				w.addMember(name, keyed{d.file, m})
			}
		case i.value.kind == object || i.value.kind == list:
			if i.name != "registry_protocols" {
				w.rest = append(w.rest, i)
				continue
			}
			for _, b := range r.objects(i.name, i.value) {
				for _, setting := range b.items {
					w.set("registry_protocols."+setting.name, setting, own)
				}
			}
		default:
			w.set(i.name, i, own)
		}
	}
}

// leavesOut reports whether the program can't read an installation method.
func (w *rewriter) leavesOut(i item) bool {
	return i.name == draftMirror || i.name == string(OCIMirror) && !w.mirrored.OCI
}

func (w *rewriter) addMember(name string, k keyed) {
	w.members[name] = slices.DeleteFunc(w.members[name], func(other keyed) bool {
		host, err := provider.ParseHost(other.key.text)
		same, otherErr := provider.ParseHost(k.key.text)
		return other.file != k.file && (other.key.text == k.key.text || err == nil && otherErr == nil && host == same)
	})
	w.members[name] = append(w.members[name], k)
}

// set takes a setting; own are those of the same file.
func (w *rewriter) set(name string, i item, own map[string]*item) {
	there := w.once[name]
	switch {
	case there == nil:
		own[name] = &i
		w.once[name] = &i
		w.names = append(w.names, name)
	case own[name] != nil || there.value.kind == boolean && there.value.text == "false":
		*there = i
	}
}

func (w *rewriter) print(p *printer) {
	if w.mirrored.PluginCacheDir != "" {
		p.argument("plugin_cache_dir", node{text: w.mirrored.PluginCacheDir})
	}
	var protocols []item
	for _, name := range w.names {
		if strings.HasPrefix(name, "registry_protocols.") {
			protocols = append(protocols, *w.once[name])
			continue
		}
		p.items([]item{*w.once[name]})
	}
	if len(protocols) > 0 {
		p.block("registry_protocols", nil, func() { p.items(protocols) })
	}
	p.items(w.rest)
	for _, name := range []string{"host", "credentials", "credentials_helper"} {
		for _, k := range w.members[name] {
			p.block(name, []node{k.key}, func() { p.items(k.body) })
		}
	}
	if w.mirrored.OCI {
		w.printLogins(p)
	}
	p.block("provider_installation", nil, func() { w.printInstallation(p) })
}

// printLogins writes the credentials for OCI registries. Relative paths are resolved
// against the directory of the file that contains them.
func (w *rewriter) printLogins(p *printer) {
	for _, b := range w.logins["oci_default_credentials"] {
		p.block("oci_default_credentials", nil, func() {
			for _, i := range b.body {
				if strings.EqualFold(i.name, "docker_style_config_files") {
					i.value.list = slices.Clone(i.value.list)
					for n := range i.value.list {
						i.value.list[n].text = beside(b.at.File, i.value.list[n].text)
					}
				}
				p.items([]item{i})
			}
		})
	}
	for _, b := range w.logins["oci_credentials"] {
		p.block("oci_credentials", []node{b.label}, func() { p.items(b.body) })
	}
}

func (w *rewriter) absolute(n node) node {
	if n.kind == str {
		n.text = ResolvePath(w.mirrored.WorkDir, n.text)
	}
	return n
}
