package cliconfig

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/hcl/ast"
	"github.com/hashicorp/hcl/hcl/token"

	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// impliedMethod is a method that applies if the configuration has no
// provider_installation block.
type impliedMethod struct {
	// path is the path of a filesystem_mirror. It is empty for direct installation.
	path    string
	exclude []string
}

// printInstallation prints dev_overrides, the mirror, and the user's methods for other
// providers.
func (w *rewriter) printInstallation(p *printer) {
	mirrored := text.Strings(w.Providers)
	w.printDevOverrides(p)
	if w.Only {
		w.printOnly(p)
		return
	}
	// Without include, the method would apply to all providers.
	if len(mirrored) > 0 {
		printMethod(p, FilesystemMirror, w.Dir, "include", mirrored)
	}
	for _, m := range w.implied {
		kind := Direct
		if m.path != "" {
			kind = FilesystemMirror
		}
		printMethod(p, kind, m.path, "exclude", slices.Concat(mirrored, m.exclude))
	}
	for _, m := range w.methods {
		name := keyOf(m, 0)
		if name == string(DevOverrides) || name == draftMirror || name == string(OCIMirror) && !w.OCI {
			continue
		}
		body := m.Val.(*ast.ObjectType)
		p.block(name, func() {
			for _, i := range body.List.Items {
				switch argument := strings.ToLower(keyOf(i, 0)); argument {
				case "exclude":
				case "path":
					p.argument(argument, p.text(w.absolute(i.Val), token.Pos{}))
				default:
					p.item(i)
				}
			}
			exclude := slices.Clone(mirrored)
			for _, literal := range literals(body, "exclude") {
				exclude = append(exclude, textOf(literal.Token))
			}
			if len(exclude) > 0 {
				p.argument("exclude", p.texts(exclude))
			}
		})
	}
}

// printOnly prints the mirror. It applies to all providers except the ones that are
// left to the user's filesystem mirrors.
func (w *rewriter) printOnly(p *printer) {
	left := text.Strings(w.Left)
	printMethod(p, FilesystemMirror, w.Dir, "exclude", left)
	if len(left) == 0 {
		return
	}
	for _, m := range w.implied {
		if m.path != "" {
			printMethod(p, FilesystemMirror, m.path, "include", left)
		}
	}
	for _, m := range w.methods {
		if keyOf(m, 0) != string(FilesystemMirror) {
			continue
		}
		for _, i := range m.Val.(*ast.ObjectType).List.Items {
			if strings.EqualFold(keyOf(i, 0), "path") {
				printMethod(p, FilesystemMirror, w.absolute(i.Val), "include", left)
			}
		}
	}
}

func (w *rewriter) printDevOverrides(p *printer) {
	for _, m := range w.methods {
		if keyOf(m, 0) != string(DevOverrides) {
			continue
		}
		p.block(string(DevOverrides), func() {
			for _, i := range m.Val.(*ast.ObjectType).List.Items {
				p.argument(p.name(keyOf(i, 0)), p.text(w.absolute(i.Val), token.Pos{}))
			}
		})
	}
}

func printMethod(p *printer, kind Kind, path, argument string, providers []string) {
	p.block(string(kind), func() {
		if path != "" {
			p.argument("path", p.text(path, token.Pos{}))
		}
		if len(providers) > 0 {
			p.argument(argument, p.texts(providers))
		}
	})
}

// impliedBy returns the methods that apply if the configuration has no
// provider_installation block. These methods are the existing plugin directories and,
// for providers that are not in these directories, direct installation.
func impliedBy(dirs []string) []impliedMethod {
	var methods []impliedMethod
	var local []string
	for _, dir := range dirs {
		info, err := os.Stat(dir)
		absolute, absErr := filepath.Abs(dir)
		if err != nil || absErr != nil || !info.IsDir() {
			continue
		}
		methods = append(methods, impliedMethod{path: absolute})
		local = append(local, text.Strings(providersIn(absolute))...)
	}
	return append(methods, impliedMethod{exclude: local})
}

// providersIn returns the providers that have packages in a filesystem_mirror.
func providersIn(dir string) []provider.Address {
	var all []provider.Address
	files := os.DirFS(dir)
	packed, _ := fs.Glob(files, "*/*/*/terraform-provider-*_*_*_*.zip")
	unpacked, _ := fs.Glob(files, "*/*/*/*/*_*")
	for _, path := range slices.Concat(packed, unpacked) {
		parts := strings.Split(path, "/")
		if len(parts) > 4 {
			_, versionErr := provider.ParseVersion(parts[3])
			_, platformErr := provider.ParsePlatform(parts[4])
			if info, err := fs.Stat(files, path); versionErr != nil || platformErr != nil || err != nil || !info.IsDir() {
				continue
			}
		}
		a, err := provider.ParseAddress(strings.Join(parts[:3], "/"))
		if err == nil && !slices.Contains(all, a) {
			all = append(all, a)
		}
	}
	slices.SortFunc(all, provider.Address.Compare)
	return all
}
