package cliconfig

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/hcl/ast"
	"github.com/hashicorp/hcl/hcl/token"
	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// RewriteOptions configures [Rewrite].
type RewriteOptions struct {
	// Dir is the absolute path of a filesystem_mirror.
	Dir string
	// Providers contains the providers that are installed only from Dir.
	Providers []provider.Address
	// Only makes Dir the only place from which the program can install providers. Of
	// the user's installation methods, Rewrite keeps dev_overrides and, for the
	// providers in Left, filesystem_mirror.
	Only bool
	// Left contains the providers that are installed from the user's filesystem mirrors
	// if Only is set.
	Left []provider.Address
	// WorkDir is the absolute path of the program's working directory.
	WorkDir string
	// OCI keeps oci_mirror blocks and credentials for OCI registries. It must be set
	// only for OpenTofu 1.10 or later, because every other program rejects these
	// blocks.
	OCI bool
	// Modules, if not nil, maps the hosts of module registries to the URLs of their
	// modules.v1 services. Rewrite then omits the user's hosts and credentials.
	Modules map[svchost.Hostname]string
}

// Rewrite returns a single configuration file for a program that installs some
// providers, or all of them, from a directory. The file combines the user's files.
// Every other method excludes these providers, and relative paths become absolute.
// Rewrite omits blocks for OCI registries unless the field OCI of [RewriteOptions] is
// set. It keeps unknown settings.
//
// The file can contain tokens. Rewrite returns the same kinds of errors as [Read].
func Rewrite(e Environment, files Files, m RewriteOptions) (text []byte, err error) {
	defer recoverPanic("", &err)
	w := rewriter{RewriteOptions: m, blocks: map[string][]placed{}}
	// 1. Merge all files in the same way as OpenTofu.
	read, err := files.read()
	if err != nil {
		return nil, err
	}
	for _, f := range read {
		if err := w.add(f); err != nil {
			return nil, err
		}
	}
	// 2. Add the implicit installation methods.
	if !w.hasInstallation {
		e.WorkDir = m.WorkDir
		w.implied = impliedBy(e.PluginDirs())
	}
	// 3. Print the result.
	p := &printer{}
	p.line("# Written by tofu-oci for one run of a program.")
	w.write(p)
	if err := p.err(); err != nil {
		return nil, err
	}
	return []byte(p.String()), nil
}

// rewriter collects the contents of files.
type rewriter struct {
	RewriteOptions
	// settings contains arguments that can be set only once. protocols contains the
	// arguments of registry_protocols, which are merged separately.
	settings, protocols settings
	// rest contains unknown blocks, which can be repeated.
	rest []*ast.ObjectItem
	// blocks contains the labeled blocks and the blocks with default credentials, by block
	// type.
	blocks          map[string][]placed
	hasInstallation bool
	methods         []*ast.ObjectItem
	implied         []impliedMethod
}

// placed is an item together with its file name.
type placed struct {
	*ast.ObjectItem
	file string
}

// settings contains arguments in order.
type settings []placed

// set adds an argument. Within a file, the last value takes precedence. Among several
// files, the first file takes precedence. A Boolean is true if any file sets it to
// true.
func (s *settings) set(file string, i *ast.ObjectItem) {
	n := slices.IndexFunc(*s, func(p placed) bool { return keyOf(p.ObjectItem, 0) == keyOf(i, 0) })
	if n < 0 {
		*s = append(*s, placed{i, file})
		return
	}
	existing := &(*s)[n]
	literal, _ := existing.Val.(*ast.LiteralType)
	isOff := literal != nil && literal.Token.Type == token.BOOL && literal.Token.Text == "false"
	if existing.file == file || isOff {
		existing.ObjectItem = i
	}
}

func (s *settings) write(p *printer) {
	for _, setting := range *s {
		p.item(setting.ObjectItem)
	}
}

// add adds the contents of a file. If several files have host or credentials blocks for
// a host, the last file takes precedence.
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
		case isKnown(name, []string{"host", "credentials", "credentials_helper", "plugin_cache_may_break_dependency_lock_file"}):
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
	w.settings.write(p)
	if len(w.protocols) > 0 {
		p.block("registry_protocols", func() { w.protocols.write(p) })
	}
	p.items(w.rest)
	if w.Modules != nil {
		w.printModules(p)
	} else {
		for _, name := range []string{"host", "credentials", "credentials_helper"} {
			for _, b := range w.blocks[name] {
				p.item(&ast.ObjectItem{Keys: b.Keys, Val: b.Val})
			}
		}
	}
	if w.OCI {
		w.printLogins(p)
	}
	p.block("provider_installation", func() { w.printInstallation(p) })
}

// printModules prints the services of module registries.
func (w *rewriter) printModules(p *printer) {
	for _, host := range slices.Sorted(maps.Keys(w.Modules)) {
		p.block("host "+p.text(string(host), token.Pos{}), func() {
			p.line("services = {")
			p.line("  \"modules.v1\" = %s", p.text(w.Modules[host], token.Pos{}))
			p.line("}")
		})
	}
}

// printLogins prints the credentials for OCI registries. It resolves relative paths
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
					files = append(files, resolveRelativeTo(b.file, textOf(literal.Token)))
				}
				p.argument("docker_style_config_files", p.texts(files))
			}
		})
	}
	for _, b := range w.blocks["oci_credentials"] {
		p.item(b.ObjectItem)
	}
}

// absolute returns the absolute form of a method's path.
func (w *rewriter) absolute(n ast.Node) string {
	literal, ok := n.(*ast.LiteralType)
	if !ok {
		return ""
	}
	return ResolvePath(w.WorkDir, textOf(literal.Token))
}
