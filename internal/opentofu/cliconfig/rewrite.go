package cliconfig

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/hcl/ast"
	"github.com/hashicorp/hcl/hcl/token"

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
func Rewrite(e Environment, files Files, m Mirrored) (text []byte, err error) {
	defer recoverPanic("", &err)
	w := rewriter{Mirrored: m, blocks: map[string][]placed{}}
	// 1. What all files say, as OpenTofu puts it together.
	read, err := files.read()
	if err != nil {
		return nil, err
	}
	for _, f := range read {
		if err := w.add(f); err != nil {
			return nil, err
		}
	}
	// 2. How providers are installed.
	if !w.hasInstallation {
		e.WorkDir = m.WorkDir
		w.implied = impliedBy(e.PluginDirs())
	}
	// 3. All of it.
	p := &printer{}
	p.line("# Written by tofu-oci for one run of a program.")
	w.write(p)
	if err := p.err(); err != nil {
		return nil, err
	}
	return []byte(p.String()), nil
}

// rewriter collects what files say.
type rewriter struct {
	Mirrored
	// settings and protocols may be there once each; those of registry_protocols count
	// one by one.
	settings, protocols settings
	// rest may be there several times, and means nothing to us.
	rest []*ast.ObjectItem
	// blocks are those with a label, and the block of default logins, by name.
	blocks          map[string][]placed
	hasInstallation bool
	methods         []*ast.ObjectItem
	implied         []impliedMethod
}

// placed is an item, and the file that contains it.
type placed struct {
	*ast.ObjectItem
	file string
}

// settings are arguments in the order in which they came.
type settings []placed

// set adds an argument. The first file's last one counts, and of switches any that is on.
func (s *settings) set(file string, i *ast.ObjectItem) {
	n := slices.IndexFunc(*s, func(p placed) bool { return keyOf(p.ObjectItem, 0) == keyOf(i, 0) })
	if n < 0 {
		*s = append(*s, placed{i, file})
		return
	}
	there := &(*s)[n]
	literal, _ := there.Val.(*ast.LiteralType)
	isOff := literal != nil && literal.Token.Type == token.BOOL && literal.Token.Text == "false"
	if there.file == file || isOff {
		there.ObjectItem = i
	}
}

func (s *settings) write(p *printer) {
	for _, setting := range *s {
		p.item(setting.ObjectItem)
	}
}

// add takes what a file says. Of host and credentials blocks for one host those of
// the last file count.
func (w *rewriter) add(f file) error {
	if _, err := single(f, nil); err != nil {
		return err
	}
	for _, name := range []string{"host", "credentials", "credentials_helper"} {
		for _, b := range f.labeled(name) {
			w.addBlock(name, placed{b, f.name})
		}
	}
	for _, i := range f.items {
		_, isLiteral := i.Val.(*ast.LiteralType)
		switch name := keyOf(i, 0); {
		case isKnown(name, []string{"host", "credentials", "credentials_helper", "plugin_cache_dir"}):
		case name == "oci_credentials" || name == "oci_default_credentials":
			w.blocks[name] = append(w.blocks[name], placed{i, f.name})
		case name == "provider_installation":
			w.hasInstallation = true
		case name == "registry_protocols":
			for _, argument := range i.Val.(*ast.ObjectType).List.Items {
				w.protocols.set(f.name, argument)
			}
		case isLiteral:
			w.settings.set(f.name, i)
		default:
			w.rest = append(w.rest, i)
		}
	}
	installations, _ := f.installationsIn()
	for _, block := range installations {
		w.methods = append(w.methods, block.methods...)
	}
	return nil
}

func (w *rewriter) addBlock(name string, b placed) {
	w.blocks[name] = slices.DeleteFunc(w.blocks[name], func(other placed) bool {
		return other.file != b.file && normalHost(keyOf(other.ObjectItem, 1)) == normalHost(keyOf(b.ObjectItem, 1))
	})
	w.blocks[name] = append(w.blocks[name], b)
}

func normalHost(name string) string {
	if host, err := provider.ParseHost(name); err == nil {
		return string(host)
	}
	return name
}

func (w *rewriter) write(p *printer) {
	if w.PluginCacheDir != "" {
		p.argument("plugin_cache_dir", p.text(w.PluginCacheDir, token.Pos{}))
	}
	w.settings.write(p)
	if len(w.protocols) > 0 {
		p.block("registry_protocols", func() { w.protocols.write(p) })
	}
	p.items(w.rest)
	for _, name := range []string{"host", "credentials", "credentials_helper"} {
		for _, b := range w.blocks[name] {
			p.item(&ast.ObjectItem{Keys: b.Keys, Val: b.Val})
		}
	}
	if w.OCI {
		w.printLogins(p)
	}
	p.block("provider_installation", func() { w.printInstallation(p) })
}

// printLogins writes the credentials for OCI registries. Relative paths are resolved
// against the directory of the file that contains them.
func (w *rewriter) printLogins(p *printer) {
	for _, b := range w.blocks["oci_default_credentials"] {
		body := b.Val.(*ast.ObjectType)
		p.block("oci_default_credentials", func() {
			for _, i := range body.List.Items {
				if !strings.EqualFold(keyOf(i, 0), "docker_style_config_files") {
					p.item(i)
					continue
				}
				var files []string
				for _, literal := range literals(&ast.ObjectType{List: &ast.ObjectList{Items: []*ast.ObjectItem{i}}}, "docker_style_config_files") {
					files = append(files, beside(b.file, textOf(literal.Token)))
				}
				p.argument("docker_style_config_files", p.texts(files))
			}
		})
	}
	for _, b := range w.blocks["oci_credentials"] {
		p.item(b.ObjectItem)
	}
}

// absolute returns a path in a method as an absolute one.
func (w *rewriter) absolute(n ast.Node) string {
	literal, ok := n.(*ast.LiteralType)
	if !ok {
		return ""
	}
	return ResolvePath(w.WorkDir, textOf(literal.Token))
}
