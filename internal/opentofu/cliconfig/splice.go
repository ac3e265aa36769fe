package cliconfig

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl"
	"github.com/hashicorp/hcl/hcl/ast"

	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// MergeError says why a provider_installation block has to be merged by hand.
type MergeError struct {
	stricthcl.Position
	// Problem is a sentence without its full stop.
	Problem string
	// Block is what the file's provider_installation may be afterwards, in the file's
	// syntax. Whether the other methods in it should exclude something is for who wrote
	// them to say.
	Block string
}

func (e *MergeError) Error() string { return e.Position.String() + ": " + e.Problem }

// Kind is [provider.Conflict].
func (e *MergeError) Kind() provider.ErrorKind { return provider.Conflict }

// Merge gives a file's text with the block of [MirrorBlock] in it. All else stays as
// it is, byte for byte. A block that is there is replaced only when MirrorBlock wrote
// it and nobody has changed it since; one that says the same stays. Errors are those
// of [Parse] and MirrorBlock, and *[MergeError].
func Merge(file string, data []byte, t template.Template, patterns []provider.Pattern) ([]byte, error) {
	ours, err := MirrorBlock(t, patterns)
	if err != nil {
		return nil, err
	}
	wanted, err := Parse(file, []byte(ours))
	if err != nil {
		return nil, err
	}
	there, err := parse(file, data)
	if err != nil {
		return nil, err
	}
	if there.json {
		return nil, &MergeError{stricthcl.Position{File: file}, "the file is in JSON syntax, into which nothing is written", jsonMember(wanted.Installation.Methods)}
	}
	merged, err := splice(there, data, ours, wanted.Installation.Methods)
	if err != nil {
		return nil, err
	}
	// What was written has to be what is read.
	if c, err := Parse(file, merged); err != nil || c.Installation == nil || !sameMethods(c.Installation.Methods, wanted.Installation.Methods) {
		return nil, &MergeError{stricthcl.Position{File: file}, "the block can't be put into the file so that it is read as it is meant", ours}
	}
	return merged, nil
}

// splice puts the block ours, which has some methods, into a file of native syntax.
func splice(there document, data []byte, ours string, methods []Method) ([]byte, error) {
	text, newline := withoutCR(data)
	if len(there.installations) == 0 {
		return []byte(withNewline(appended(text, ours), newline)), nil
	}
	first := there.installations[0]
	if len(there.installations) > 1 {
		return nil, &MergeError{there.installations[1].Position, "a second provider_installation block; the first is at " + first.Position.String(), ours}
	}
	if sameMethods(first.Methods, methods) && len(first.DevOverrides) == 0 {
		return data, nil
	}
	if strings.Contains(text, "\r\n") { // the parser counts them otherwise
		return nil, &MergeError{first.Position, "there is a provider_installation block already, in a file of mixed line endings", ours}
	}
	begin, end := installationIn(text)
	if !written(first, text[begin:end]) {
		return nil, byHand(text, first, ours, methods[0])
	}
	return []byte(withNewline(text[:begin]+strings.TrimSuffix(ours, "\n")+text[end:], newline)), nil
}

// withoutCR gives a text with bare line feeds, and how its lines end; a text that mixes
// both is left alone.
func withoutCR(data []byte) (text, newline string) {
	if n := bytes.Count(data, []byte("\r\n")); n > 0 && n == bytes.Count(data, []byte("\n")) {
		return strings.ReplaceAll(string(data), "\r\n", "\n"), "\r\n"
	}
	return string(data), "\n"
}

func withNewline(text, newline string) string { return strings.ReplaceAll(text, "\n", newline) }

// appended adds a block as a paragraph of its own.
func appended(text, block string) string {
	switch {
	case text == "", strings.HasSuffix(text, "\n\n"):
		return text + block
	case strings.HasSuffix(text, "\n"):
		return text + "\n" + block
	}
	return text + "\n\n" + block
}

// installationIn finds the provider_installation block in a text that was parsed.
func installationIn(text string) (begin, end int) {
	if i := installationOf(text); i != nil {
		return i.Keys[0].Pos().Offset, i.Val.(*ast.ObjectType).Rbrace.Offset + 1
	}
	return 0, 0
}

// installationOf gives the block as the parser has it, nil where there is none.
func installationOf(text string) *ast.ObjectItem {
	root, err := hcl.ParseBytes([]byte(text))
	if err != nil {
		return nil
	}
	body, _ := root.Node.(*ast.ObjectList)
	for _, i := range body.Items {
		if _, is := i.Val.(*ast.ObjectType); is && keyOf(i) == "provider_installation" {
			return i
		}
	}
	return nil
}

func keyOf(i *ast.ObjectItem) string {
	if len(i.Keys) == 0 {
		return ""
	}
	return native{}.literal(i.Keys[0].Token).text
}

// written tells whether a block's text is what MirrorBlock writes.
func written(i Installation, text string) bool {
	if len(i.Methods) == 0 {
		return false
	}
	again, err := MirrorBlock(i.Methods[0].Template, i.Methods[0].Include)
	return err == nil && text == strings.TrimSuffix(again, "\n")
}

func sameMethods(a, b []Method) bool {
	return slices.EqualFunc(a, b, func(x, y Method) bool {
		return x.Kind == y.Kind && x.Path == y.Path && x.URL == y.URL && x.Template.HCL() == y.Template.HCL() &&
			slices.Equal(x.Include, y.Include) && slices.Equal(x.Exclude, y.Exclude)
	})
}

// jsonMember writes methods of MirrorBlock as a member of a JSON file. OpenTofu misreads
// an object of objects, so each method is a list of one.
func jsonMember(methods []Method) string {
	var b strings.Builder
	b.WriteString("\"provider_installation\": {\n")
	for i, m := range methods {
		body := map[string]any{}
		if m.Kind == OCIMirror {
			body["repository_template"], body["include"] = m.Template.HCL(), names(m.Include)
		} else {
			body["exclude"] = names(m.Exclude)
		}
		var value strings.Builder
		encoder := json.NewEncoder(&value)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode([]any{body}); err != nil {
			return ""
		}
		comma := ","
		if i == len(methods)-1 {
			comma = ""
		}
		fmt.Fprintf(&b, "  %q: %s%s\n", m.Kind, strings.TrimSpace(value.String()), comma)
	}
	b.WriteString("}\n")
	return b.String()
}

func names(patterns []provider.Pattern) []string {
	var all []string
	for _, p := range patterns {
		all = append(all, p.String())
	}
	return all
}
