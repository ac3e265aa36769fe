package cliconfig

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// printInstallation writes the methods: providers under development, the mirror, and
// then the user's other methods for other providers.
func (w *rewriter) printInstallation(p *printer) {
	mirrored := make([]node, 0, len(w.mirrored.Providers))
	for _, a := range w.mirrored.Providers {
		mirrored = append(mirrored, node{text: a.String()})
	}
	for _, b := range w.methods(func(i item) bool { return i.name == string(DevOverrides) }) {
		p.block(string(DevOverrides), nil, func() {
			for _, i := range b.body {
				p.argument(i.name, w.absolute(i.value))
			}
		})
	}
	// Without any provider it would be for all.
	if len(mirrored) > 0 {
		p.block(string(FilesystemMirror), nil, func() {
			p.argument("path", node{text: w.mirrored.Dir})
			p.argument("include", node{kind: list, list: mirrored})
		})
	}
	for _, b := range w.methods(func(i item) bool { return i.name != string(DevOverrides) }) {
		p.block(b.label.text, nil, func() {
			excluded := slices.Clone(mirrored)
			for _, i := range b.body {
				switch {
				case strings.EqualFold(i.name, "exclude"):
					excluded = append(excluded, i.value.list...)
				case strings.EqualFold(i.name, "path"):
					p.argument("path", w.absolute(i.value))
				default:
					p.items([]item{i})
				}
			}
			if len(excluded) > 0 {
				p.argument("exclude", node{kind: list, list: excluded})
			}
		})
	}
}

// methods gives the blocks of some methods, with their names as labels.
func (w *rewriter) methods(of func(item) bool) []block {
	var all []block
	for _, installation := range w.installation {
		for _, i := range installation.body {
			if !of(i) {
				continue
			}
			r := &reader{json: true} // which takes lists too
			for _, o := range r.objects(i.name, i.value) {
				all = append(all, block{at: i.at, label: node{text: i.name}, body: o.items})
			}
		}
	}
	return all
}

// implied is the block that stands for none: the plugin directories that there are,
// and direct for all providers of which those have nothing.
func implied(dirs []string) []block {
	var b block
	var local []node
	for _, dir := range dirs {
		info, err := os.Stat(dir)
		absolute, absErr := filepath.Abs(dir)
		if err != nil || absErr != nil || !info.IsDir() {
			continue
		}
		path := item{name: "path", assigned: true, value: node{text: absolute}}
		b.body = append(b.body, item{name: string(FilesystemMirror), value: node{kind: object, items: []item{path}}})
		for _, a := range providersIn(absolute) {
			local = append(local, node{text: a.String()})
		}
	}
	direct := item{name: string(Direct), value: node{kind: object}}
	if len(local) > 0 {
		direct.value.items = []item{{name: "exclude", assigned: true, value: node{kind: list, list: local}}}
	}
	b.body = append(b.body, direct)
	return []block{b}
}

// providersIn lists the providers of which a filesystem_mirror has a package.
func providersIn(dir string) []provider.Address {
	var all []provider.Address
	packed, _ := filepath.Glob(filepath.Join(escapeGlob(dir), "*", "*", "*", "terraform-provider-*_*_*_*.zip"))
	unpacked, _ := filepath.Glob(filepath.Join(escapeGlob(dir), "*", "*", "*", "*", "*_*"))
	for _, path := range slices.Concat(packed, unpacked) {
		relative, err := filepath.Rel(dir, path)
		if err != nil {
			continue
		}
		parts := strings.Split(filepath.ToSlash(relative), "/")
		if len(parts) > 4 {
			_, versionErr := provider.ParseVersion(parts[3])
			_, err = provider.ParsePlatform(parts[4])
			if info, statErr := os.Stat(path); versionErr != nil || err != nil || statErr != nil || !info.IsDir() {
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

// escapeGlob has [filepath.Glob] take a path as it is, as far as the system allows.
func escapeGlob(path string) string {
	if filepath.Separator == '\\' {
		return path
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
