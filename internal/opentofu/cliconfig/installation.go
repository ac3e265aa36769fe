package cliconfig

import (
	"errors"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// Kind is the kind of an installation method, in the word of its block.
type Kind string

// The kinds of methods. A dev_overrides block is no method of its own; its kind
// is for those who speak of it.
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
	// Methods are asked in their order.
	Methods []Method
	// DevOverrides are the directories of providers under development, which
	// OpenTofu takes without looking at versions.
	DevOverrides map[provider.Address]DevOverride
}

// DevOverride is an entry of a dev_overrides block.
type DevOverride struct {
	Position stricthcl.Position
	// Path is a directory with the provider's program.
	Path string
}

// Method is a block within provider_installation: a way to get providers.
type Method struct {
	// Position is the zero value for a method that counts without any block.
	Position stricthcl.Position
	Kind     Kind
	// Include are the patterns of providers that the method is for, all when
	// empty; Exclude are exceptions from them.
	Include, Exclude []provider.Pattern
	// Template is that of an oci_mirror.
	Template template.Template
	// Path is that of a filesystem_mirror, as it is written.
	Path string
	// URL is that of a network_mirror.
	URL string
}

// Match tells whether the method is for a provider, and which pattern decided
// that; the zero pattern when none did.
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

// String names the method, what it refers to, and where it stands. Passwords that
// are in its URL are not shown.
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

func (r *reader) installation(b block) Installation {
	installation := Installation{Position: b.at, DevOverrides: map[provider.Address]DevOverride{}}
	if r.json && len(b.body) > 0 && !slices.ContainsFunc(b.body, func(i item) bool { return i.value.kind != object }) {
		r.note(NoteObjects, b.at, "OpenTofu misreads a provider_installation object whose members are all objects: write at least one as a list, [{ … }]")
	}
	for _, i := range b.body {
		for _, b := range r.methodBlocks(i) {
			if i.name == string(DevOverrides) {
				if len(installation.Methods) > 0 {
					r.fail(b.at, "dev_overrides must stand before all methods, since it comes before them")
				}
				r.devOverrides(&installation, b)
			} else if m, ok := r.method(i.name, b); ok {
				installation.Methods = append(installation.Methods, m)
			}
		}
	}
	return installation
}

// methodBlocks reads an item of the installation block as method blocks.
func (r *reader) methodBlocks(i item) []block {
	known := []string{draftMirror, string(Direct), string(FilesystemMirror), string(NetworkMirror), string(OCIMirror), string(DevOverrides)}
	if slices.Contains(known, i.name) {
		return r.blocks(i)
	}
	r.fail(i.at, "there is no installation method %q, only direct, filesystem_mirror, network_mirror, oci_mirror and dev_overrides", i.name)
	return nil
}

// draftMirror is the word that the draft of OpenTofu's RFC had for oci_mirror.
// No release reads it.
const draftMirror = "oci"

// arguments are those of the methods. OpenTofu ignores others, and so they are
// no error here.
var arguments = map[Kind][]string{
	Direct:           {"include", "exclude", "download_retry_count"},
	FilesystemMirror: {"include", "exclude", "path"},
	NetworkMirror:    {"include", "exclude", "url", "download_retry_count", "trust_all_hashes"},
	OCIMirror:        {"include", "exclude", "repository_template"},
}

func (r *reader) method(name string, b block) (Method, bool) {
	before := len(r.problems)
	m := Method{Position: b.at, Kind: Kind(name)}
	templateName := "repository_template"
	if name == draftMirror {
		m.Kind, templateName = OCIMirror, "registry_template"
		r.note(NoteDraft, b.at, "OpenTofu wants oci_mirror { repository_template = … } instead of the draft's oci { registry_template = … }")
	}
	for _, i := range b.body {
		if !slices.ContainsFunc(arguments[m.Kind], func(known string) bool { return strings.EqualFold(known, i.name) }) && !strings.EqualFold(i.name, templateName) {
			r.note(NoteIgnored, i.at, "%s has no argument %q; it is ignored", name, i.name)
		}
	}
	for _, known := range arguments[m.Kind] {
		switch known {
		case "download_retry_count":
			r.integer(b.body, known)
		case "trust_all_hashes":
			r.boolean(b.body, known, false)
		}
	}
	m.Include, m.Exclude = r.patterns(b, "include"), r.patterns(b, "exclude")
	switch m.Kind {
	case FilesystemMirror:
		m.Path = r.required(b, name, "path").text
	case NetworkMirror:
		m.URL = r.url(r.required(b, name, "url"))
	case OCIMirror:
		if text := r.required(b, name, templateName); text.text != "" && len(r.problems) == before {
			m.Template = r.template(b, text, m.Include)
		}
	}
	return m, len(r.problems) == before
}

// required reads an argument that must be there and not be empty.
func (r *reader) required(b block, method, name string) node {
	before := len(r.problems)
	value, _ := r.text(b.body, name)
	if value.text == "" && len(r.problems) == before {
		r.fail(b.at, "%s must have the argument %s", method, name)
	}
	return value
}

func (r *reader) patterns(b block, name string) []provider.Pattern {
	texts, _ := r.texts(b.body, name)
	var patterns []provider.Pattern
	for _, text := range texts {
		p, err := provider.ParsePattern(text.text)
		if err != nil {
			r.syntax(text, err)
			continue
		}
		patterns = append(patterns, p)
	}
	return patterns
}

func (r *reader) url(value node) string {
	if value.text == "" {
		return ""
	}
	u, err := url.Parse(value.text)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		r.fail(value.at, "the url of a network_mirror must start with https:// and a host")
	}
	return value.text
}

func (r *reader) devOverrides(installation *Installation, b block) {
	for _, i := range b.body {
		value, given := r.text([]item{i}, i.name)
		if !given {
			continue
		}
		name := i.name
		if !strings.Contains(name, "/") {
			name = "hashicorp/" + name // as OpenTofu reads one part alone
		}
		a, err := provider.ParseAddress(name)
		if err != nil {
			r.fail(i.at, "%q is not a provider address: %s", i.name, problemOf(err))
			continue
		}
		installation.DevOverrides[a] = DevOverride{i.at, filepath.Clean(value.text)}
	}
}

// syntax reports what is wrong within a text of the file, at its very place.
func (r *reader) syntax(value node, err error) {
	at := value.at
	var e *provider.SyntaxError
	if errors.As(err, &e) {
		at = value.within(e.Offset)
		r.fail(at, "%s %q: %s", e.What, e.Input, e.Problem)
		return
	}
	r.fail(at, "%v", err)
}

// problemOf gives the problem alone, where the rest is said already.
func problemOf(err error) string {
	var e *provider.SyntaxError
	if errors.As(err, &e) {
		return e.Problem
	}
	return err.Error()
}
