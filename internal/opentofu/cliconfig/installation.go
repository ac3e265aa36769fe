package cliconfig

import (
	"cmp"
	"errors"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/hcl/ast"

	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// Kind is the kind of an installation method. It is the name of the method's block.
type Kind string

// The kinds of methods. A dev_overrides block is not a method. A [Method] has the
// kind DevOverrides only in errors and explanations.
const (
	Direct           Kind = "direct"
	FilesystemMirror Kind = "filesystem_mirror"
	NetworkMirror    Kind = "network_mirror"
	OCIMirror        Kind = "oci_mirror"
	DevOverrides     Kind = "dev_overrides"
)

// Installation is a provider_installation block.
type Installation struct {
	Position stricthcl.Position
	// Methods contains the installation methods in order of precedence.
	Methods []Method
	// DevOverrides maps providers in development to their directories. OpenTofu uses
	// these providers regardless of version constraints.
	DevOverrides map[provider.Address]DevOverride
}

// DevOverride is an entry in a dev_overrides block.
type DevOverride struct {
	Position stricthcl.Position
	// Path is the directory that contains the provider's executable.
	Path string
}

// Method is an installation method, which is a block in provider_installation.
type Method struct {
	// Position is the position of the block. It is the zero value if the method has no
	// block.
	Position stricthcl.Position
	Kind     Kind
	// Include contains the patterns of providers for which the method is used. If
	// empty, the method is used for all providers. Exclude contains exceptions.
	Include, Exclude []provider.Pattern
	// Template is the repository template of an oci_mirror.
	Template template.Template
	// Path is the path of a filesystem_mirror as written.
	Path string
	// URL is the address of a network_mirror.
	URL string
}

// FirstOCIMirror returns the first oci_mirror and reports whether one exists.
func (c Config) FirstOCIMirror() (m Method, found bool) {
	if c.Installation == nil {
		return m, false
	}
	i := slices.IndexFunc(c.Installation.Methods, func(m Method) bool { return m.Kind == OCIMirror })
	if i < 0 {
		return m, false
	}
	return c.Installation.Methods[i], true
}

// Match reports whether the method is used for a provider. It also returns the decisive
// pattern, or the zero value if no pattern matches.
func (m Method) Match(a provider.Address) (bool, provider.Pattern) {
	matches := func(p provider.Pattern) bool { return p.Match(a) }
	if i := slices.IndexFunc(m.Exclude, matches); i >= 0 {
		return false, m.Exclude[i]
	}
	if i := slices.IndexFunc(m.Include, matches); i >= 0 {
		return true, m.Include[i]
	}
	return len(m.Include) == 0, provider.Pattern{}
}

// String returns the method's kind, target, and position. It hides passwords in URLs.
func (m Method) String() string {
	name := string(m.Kind)
	if what := m.Template.Redacted() + m.Path + text.RedactUserinfo(m.URL); what != "" {
		name += " " + what
	}
	if m.Position != (stricthcl.Position{}) {
		name += " (" + m.Position.String() + ")"
	}
	return name
}

// installation is a provider_installation block in a file.
type installation struct {
	at      stricthcl.Position
	methods []*ast.ObjectItem
	// misread is set if OpenTofu does not recognize the methods.
	misread bool
}

// installationsIn returns a file's provider_installation blocks, and the items with
// this name that are not blocks. In JSON syntax, if all members of a block are objects,
// HCL 1 merges the block into its parent.
func (f file) installationsIn() (all []installation, wrong []*ast.ObjectItem) {
	for _, i := range f.items {
		if keyOf(i, 0) != "provider_installation" {
			continue
		}
		body, ok := f.isBlock(i, 0)
		last := len(all) - 1
		switch {
		case !ok:
			wrong = append(wrong, i)
		case len(i.Keys) == 1:
			all = append(all, installation{at: f.at(i), methods: body.List.Items})
		case last >= 0 && all[last].misread && all[last].at == f.at(i):
			all[last].methods = append(all[last].methods, &ast.ObjectItem{Keys: i.Keys[1:], Assign: i.Assign, Val: i.Val})
		default:
			all = append(all, installation{f.at(i), []*ast.ObjectItem{{Keys: i.Keys[1:], Assign: i.Assign, Val: i.Val}}, true})
		}
	}
	return all, wrong
}

func (r *reader) installations() {
	all, wrong := r.installationsIn()
	for _, i := range wrong {
		r.refuse("provider_installation", r.at(i))
	}
	for _, block := range all {
		if first := r.config.Installation; first != nil {
			r.failOnce(block.at, first.Position, "provider_installation block")
			continue
		}
		if block.misread {
			r.note(NoteObjects, block.at, "OpenTofu misreads a provider_installation object whose members are all objects; write at least one member as a list, [{ … }]")
		}
		r.config.Installation = &Installation{Position: block.at, DevOverrides: map[provider.Address]DevOverride{}}
		for _, i := range block.methods {
			r.method(i)
		}
	}
}

// draftMirror is the name of oci_mirror in the draft of OpenTofu's RFC. No release
// supports it.
const draftMirror = "oci"

// arguments maps each method to its arguments. OpenTofu ignores unknown arguments, so
// they are not errors.
var arguments = map[Kind][]string{
	Direct:           {"include", "exclude", "download_retry_count"},
	FilesystemMirror: {"include", "exclude", "path"},
	NetworkMirror:    {"include", "exclude", "url", "download_retry_count", "trust_all_hashes"},
	OCIMirror:        {"include", "exclude", "repository_template"},
	draftMirror:      {"include", "exclude", "registry_template", "repository_template"},
}

// method reads a method's block in provider_installation.
func (r *reader) method(i *ast.ObjectItem) {
	kind, at := Kind(keyOf(i, 0)), r.at(i)
	body, ok := r.isBlock(i, 0)
	switch {
	case kind != DevOverrides && arguments[kind] == nil:
		r.fail(at, "unknown installation method %q: want direct, filesystem_mirror, network_mirror, oci_mirror, or dev_overrides", string(kind))
		return
	case !ok:
		r.refuse("provider_installation", at)
		return
	case kind == DevOverrides:
		r.devOverrides(body, i)
		return
	}
	of, unknown := r.knownArguments(kind, body)
	var content struct {
		Include  []string `hcl:"include"`
		Exclude  []string `hcl:"exclude"`
		Path     string   `hcl:"path"`
		URL      string   `hcl:"url"`
		Template string   `hcl:"repository_template"`
		Draft    string   `hcl:"registry_template"`
		Retries  *int     `hcl:"download_retry_count"`
		Trusted  bool     `hcl:"trust_all_hashes"`
	}
	if !r.decodeBlock("provider_installation", of, i, &content) {
		return
	}
	before := len(r.problems)
	m := Method{Position: at, Kind: kind}
	m.Include = r.patterns(of, "include", content.Include, at)
	m.Exclude = r.patterns(of, "exclude", content.Exclude, at)
	required := func(name, value string) string {
		switch {
		case value == "" && unknown != "":
			r.fail(at, "%s must have the argument %s; OpenTofu ignores %q", string(kind), name, unknown)
		case value == "":
			r.fail(at, "%s must have the argument %s", string(kind), name)
		}
		return value
	}
	switch kind {
	case draftMirror:
		r.note(NoteDraft, at, "oci { registry_template = … } comes from a draft of OpenTofu's RFC; OpenTofu requires oci_mirror { repository_template = … }")
		m.Kind = OCIMirror
		m.Template = r.template(m, required("registry_template", content.Draft), r.valueAt(of, "registry_template", at))
	case OCIMirror:
		m.Template = r.template(m, required("repository_template", content.Template), r.valueAt(of, "repository_template", at))
	case FilesystemMirror:
		m.Path = required("path", content.Path)
	case NetworkMirror:
		m.URL = required("url", content.URL)
		if u, err := url.Parse(m.URL); m.URL != "" && (err != nil || u.Scheme != "https" || u.Host == "") {
			r.fail(r.valueAt(of, "url", at).at, "the url of a network_mirror must be an https:// URL with a host")
		}
	}
	if len(r.problems) == before {
		r.config.Installation.Methods = append(r.config.Installation.Methods, m)
	}
}

// knownArguments returns the arguments that OpenTofu supports, adds notes about unknown
// arguments, and returns the name of the first one.
func (r *reader) knownArguments(kind Kind, body *ast.ObjectType) (of *ast.ObjectType, unknown string) {
	of = &ast.ObjectType{List: &ast.ObjectList{}}
	for _, argument := range body.List.Items {
		name := keyOf(argument, 0)
		if isKnown(name, arguments[kind]) {
			of.List.Add(argument)
		} else {
			unknown = cmp.Or(unknown, name)
			r.note(NoteIgnored, r.position(argument.Pos(), argument), "%s blocks have no argument %q, so OpenTofu ignores it", string(kind), name)
		}
	}
	return of, unknown
}

func (r *reader) devOverrides(body *ast.ObjectType, i *ast.ObjectItem) {
	at := r.at(i)
	if len(r.config.Installation.Methods) > 0 {
		r.fail(at, "dev_overrides must precede all methods, because it overrides them")
	}
	var paths map[string]string
	if !r.decodeBlock("provider_installation", body, i, &paths) {
		return
	}
	for _, entry := range body.List.Items {
		written, at := keyOf(entry, 0), r.position(entry.Pos(), entry)
		name := written
		if !strings.Contains(name, "/") {
			name = "hashicorp/" + name // as in OpenTofu
		}
		a, err := provider.ParseAddress(name)
		if err != nil {
			r.fail(at, "invalid provider address %q: %s", written, problemOf(err))
			continue
		}
		r.config.Installation.DevOverrides[a] = DevOverride{at, filepath.Clean(paths[written])}
	}
}

// patterns parses the patterns in a method's argument.
func (r *reader) patterns(body *ast.ObjectType, name string, texts []string, method stricthcl.Position) []provider.Pattern {
	var patterns []provider.Pattern
	values := literals(body, name)
	for i, text := range texts {
		p, err := provider.ParsePattern(text)
		if err != nil {
			r.syntax(r.value(values, i, method), err)
			continue
		}
		patterns = append(patterns, p)
	}
	return patterns
}

// value is the position of a value in a file.
type value struct {
	at stricthcl.Position
	// text is the value if it is quoted and contains no escapes.
	text string
}

// value returns the position of values[n]. In JSON syntax, it returns the method's
// position, because no other position is known.
func (r *reader) value(values []*ast.LiteralType, n int, method stricthcl.Position) value {
	if n < 0 || n >= len(values) || !values[n].Token.Pos.IsValid() {
		return value{at: method}
	}
	t := values[n].Token
	v := value{at: r.position(t.Pos, nil)}
	if text := textOf(t); t.Text == `"`+text+`"` {
		v.text = text
	}
	return v
}

// valueAt returns the position of an argument's value. If the argument is repeated, the
// last one takes precedence.
func (r *reader) valueAt(body *ast.ObjectType, name string, method stricthcl.Position) value {
	values := literals(body, name)
	return r.value(values, len(values)-1, method)
}

// syntax reports a problem in a value. If possible, it reports the problem's position
// inside the value.
func (r *reader) syntax(v value, err error) {
	var e *provider.SyntaxError
	if !errors.As(err, &e) {
		r.fail(v.at, "%v", err)
		return
	}
	if e.Offset >= 0 && e.Offset <= len(v.text) && v.text != "" {
		v.at = after(v.at, `"`+v.text[:e.Offset])
	}
	r.fail(v.at, "invalid %s %q: %s", e.What, e.Input, e.Problem)
}

// problemOf describes a syntax error without quoting the input.
func problemOf(err error) string {
	var e *provider.SyntaxError
	if errors.As(err, &e) {
		return e.Problem
	}
	return err.Error()
}
