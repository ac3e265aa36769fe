package cliconfig

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl"
	"github.com/hashicorp/hcl/hcl/ast"
	"github.com/hashicorp/hcl/hcl/parser"
	"github.com/hashicorp/hcl/hcl/token"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// maxFile is the maximum size of a configuration file in bytes. Typical files are a few
// hundred bytes in size.
const maxFile = 256 << 10

// file is a file's syntax tree from HCL 1, the parser that OpenTofu uses. In JSON
// syntax, HCL 1 merges nested objects, so that member names become labels. It preserves
// only the positions of colons.
type file struct {
	name  string
	json  bool
	items []*ast.ObjectItem
}

func readFile(path string) (file, error) {
	data, err := bounded.ReadFileOrPipe(path, maxFile)
	if err != nil {
		return file{}, fmt.Errorf("reading the CLI configuration: %w", err)
	}
	return parseFile(path, data)
}

func parseFile(name string, data []byte) (f file, err error) {
	defer recoverPanic(name, &err)
	// Like OpenTofu's parser, ignore the file name extension.
	f = file{name: name, json: bytes.HasPrefix(bytes.TrimSpace(data), []byte("{"))}
	if err := stricthcl.CheckHCL1(name, data, f.json); err != nil {
		return f, err
	}
	if f.json {
		if err := checkJSON(name, data); err != nil {
			return f, err
		}
	}
	root, err := hcl.ParseBytes(data)
	if err != nil {
		return f, parserError(name, err)
	}
	body, ok := root.Node.(*ast.ObjectList)
	if !ok {
		return f, &stricthcl.Error{Position: stricthcl.Position{File: name, Line: 1, Column: 1}, Problem: "the file must contain blocks"}
	}
	f.items = slices.DeleteFunc(body.Items, func(i *ast.ObjectItem) bool { return len(i.Keys) == 0 })
	return f, nil
}

// recoverPanic sets err after HCL 1 panics because of an invalid escape sequence in a
// string. The panic message contains the string, which can be a secret.
func recoverPanic(name string, err *error) {
	if recover() != nil {
		*err = &stricthcl.Error{Position: stricthcl.Position{File: name}, Problem: "OpenTofu's parser crashes on this file, because a string has an invalid escape sequence"}
	}
}

// position returns the position of a token. If the position is unknown, it returns the
// position of the item that contains the token.
func (f file) position(p token.Pos, in *ast.ObjectItem) stricthcl.Position {
	if !p.IsValid() {
		p = in.Assign
	}
	return stricthcl.Position{File: f.name, Line: p.Line, Column: p.Column}
}

func (f file) at(i *ast.ObjectItem) stricthcl.Position { return f.position(i.Pos(), i) }

// labeled returns the blocks that have the given name and a label. Like HCL 1's
// decoder, it treats the name of a nested block as a label: name { label { … } }.
func (f file) labeled(name string) []*ast.ObjectItem {
	var all []*ast.ObjectItem
	for _, i := range f.items {
		body, isObject := i.Val.(*ast.ObjectType)
		switch {
		case !strings.EqualFold(keyOf(i, 0), name):
		case len(i.Keys) > 1:
			all = append(all, i)
		case isObject:
			for _, inner := range body.List.Items {
				all = append(all, &ast.ObjectItem{Keys: slices.Concat(i.Keys, inner.Keys), Assign: i.Assign, Val: inner.Val})
			}
		}
	}
	return all
}

// isBlock reports whether OpenTofu reads an item as a block with the given number of
// labels. JSON syntax allows additional labels, which are ignored.
func (f file) isBlock(i *ast.ObjectItem, labels int) (body *ast.ObjectType, ok bool) {
	body, ok = i.Val.(*ast.ObjectType)
	return body, ok && (f.json && len(i.Keys) > labels || len(i.Keys) == labels+1 && !i.Assign.IsValid())
}

// keyOf returns an item's name if n is 0. Otherwise, it returns the item's nth label.
func keyOf(i *ast.ObjectItem, n int) string {
	if n >= len(i.Keys) {
		return ""
	}
	return textOf(i.Keys[n].Token)
}

func textOf(t token.Token) string {
	switch t.Type {
	case token.STRING, token.HEREDOC:
		text, _ := t.Value().(string)
		return text
	default:
		return t.Text
	}
}

// literals returns the values of an argument, which can be a literal or a list of
// literals.
func literals(body *ast.ObjectType, name string) []*ast.LiteralType {
	var all []*ast.LiteralType
	for _, i := range body.List.Filter(name).Items {
		ast.Walk(i.Val, func(n ast.Node) (ast.Node, bool) {
			if literal, ok := n.(*ast.LiteralType); ok {
				all = append(all, literal)
			}
			return n, true
		})
	}
	return all
}

// reader reads files into a configuration and collects problems.
type reader struct {
	file
	config   Config
	problems []error
	// expand replaces environment variables in plugin_cache_dir.
	expand func(string) string
	// labels maps each label to the position of its oci_credentials block.
	labels map[string]stricthcl.Position
}

func newReader(expand func(string) string) *reader {
	return &reader{config: emptyConfig(), expand: expand, labels: map[string]stricthcl.Position{}}
}

// result returns the configuration, or an error if it found problems.
func (r *reader) result() (Config, error) {
	if len(r.problems) > 0 {
		return Config{}, errors.Join(r.problems...)
	}
	return r.config, nil
}

// add reads the settings in a file. The caller must add files in OpenTofu's order.
func (r *reader) add(f file) {
	var err error
	defer func() {
		if err != nil {
			r.problems = append(r.problems, err)
		}
	}()
	defer recoverPanic(f.name, &err)
	r.file = f
	r.hosts()
	r.tokens()
	r.credentialsHelper()
	r.pluginCache()
	r.protocols()
	r.installations()
	r.logins()
	r.defaultLogins()
	r.unknownBlocks()
}

// knownBlocks contains the names of the blocks that OpenTofu reads, including obsolete ones.
var knownBlocks = []string{
	"credentials", "credentials_helper", "host", "oci_credentials", "oci_default_credentials", "provider_installation", "providers", "provisioners",
	"registry_protocols",
}

// unknownBlocks adds a note about each block that OpenTofu ignores, such as a block with
// a misspelled name.
func (r *reader) unknownBlocks() {
	for _, i := range r.items {
		name := keyOf(i, 0)
		_, isObject := i.Val.(*ast.ObjectType)
		if isObject && !slices.ContainsFunc(knownBlocks, func(known string) bool { return strings.EqualFold(known, name) }) {
			r.note(NoteIgnored, r.at(i), "OpenTofu ignores the block %q; the blocks are %s", name, text.List(knownBlocks, "and"))
		}
	}
}

func (r *reader) fail(at stricthcl.Position, format string, args ...any) {
	r.problems = append(r.problems, &stricthcl.Error{Position: at, Problem: message(format, args)})
}

// failOnce reports a repeated block. first is the position of the first block.
func (r *reader) failOnce(at, first stricthcl.Position, what string) {
	r.fail(at, "duplicate %s; the first is at %v", what, first)
}

func (r *reader) note(kind NoteKind, at stricthcl.Position, format string, args ...any) {
	r.config.Notes = append(r.config.Notes, Note{at, kind, message(format, args)})
}

// message formats a message and hides secrets in its arguments.
func message(format string, args []any) string {
	shown := make([]any, len(args))
	for i, arg := range args {
		switch arg := arg.(type) {
		case string:
			shown[i] = text.RedactUserinfo(arg)
		case template.Template:
			shown[i] = arg.Redacted()
		case error:
			shown[i] = text.Redact(arg.Error())
		default:
			shown[i] = arg
		}
	}
	return fmt.Sprintf(format, shown...)
}

// decodeBlock decodes a block's arguments separately, so that each problem has a
// precise position. name is the name of the top-level item.
func (r *reader) decodeBlock(name string, body *ast.ObjectType, block *ast.ObjectItem, into any) bool {
	ok := true
	for _, i := range body.List.Items {
		at := r.position(i.Val.Pos(), block)
		ok = r.decode(name, &ast.ObjectList{Items: []*ast.ObjectItem{i}}, at, into) && ok
	}
	return ok
}

// decode decodes items in the same way as OpenTofu, into types like OpenTofu's. at is
// the position for errors that have no position.
func (r *reader) decode(name string, node ast.Node, at stricthcl.Position, into any) bool {
	err := hcl.DecodeObject(into, node)
	if err == nil {
		return true
	}
	if e, ok := errors.AsType[*parser.PosError](err); ok && e.Pos.IsValid() {
		at = stricthcl.Position{File: r.name, Line: e.Pos.Line, Column: e.Pos.Column}
	}
	r.refuse(name, at)
	return false
}

// decodeTop decodes all top-level items that have the given name.
func (r *reader) decodeTop(name string, into any) bool {
	at := stricthcl.Position{File: r.name}
	if i := slices.IndexFunc(r.items, func(i *ast.ObjectItem) bool { return strings.EqualFold(keyOf(i, 0), name) }); i >= 0 {
		at = r.at(r.items[i])
	}
	return r.decode(name, &ast.ObjectList{Items: r.items}, at, into)
}

// refuse reports an item whose form OpenTofu rejects. The decoder's message is not
// used, because it can contain secrets.
func (r *reader) refuse(name string, at stricthcl.Position) {
	form := forms[name][0]
	if r.json {
		form = forms[name][1]
	}
	r.fail(at, "OpenTofu rejects this form of %s; want %v", name, form)
}

// forms contains the expected forms of items in native and JSON syntax.
var forms = map[string][2]string{
	"host":               {`host "registry.example.com" { services = { … } }`, `"host": {"registry.example.com": {"services": {…}}}`},
	"credentials":        {`credentials "registry.example.com" { token = "…" }`, `"credentials": {"registry.example.com": {"token": "…"}}`},
	"credentials_helper": {`credentials_helper "name" { args = ["…"] }`, `"credentials_helper": {"name": {"args": ["…"]}}`},
	"plugin_cache_dir":   {`plugin_cache_dir = "…"`, `"plugin_cache_dir": "…"`},
	"plugin_cache_may_break_dependency_lock_file": {
		`plugin_cache_may_break_dependency_lock_file = true`, `"plugin_cache_may_break_dependency_lock_file": true`,
	},
	"registry_protocols":      {`registry_protocols { retry_count = 1 }`, `"registry_protocols": {"retry_count": 1}`},
	"oci_default_credentials": {`oci_default_credentials { … }`, `"oci_default_credentials": {"discover_ambient_credentials": true}`},
	"oci_credentials":         {`oci_credentials "registry.example.com" { … }`, `"oci_credentials": {"registry.example.com": {…}}, without lists or null`},
	"provider_installation":   {`provider_installation { direct { … } }`, `"provider_installation": [{"direct": [{…}]}]`},
}
