package cliconfig

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

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

// Kind returns [provider.Conflict].
func (e *MergeError) Kind() provider.ErrorKind { return provider.Conflict }

// Merge returns a file's text with the block of [MirrorBlock] in it. All else stays as
// it is, byte for byte. A block that is there is replaced only when MirrorBlock wrote
// it and nobody has changed it since; one that says the same stays. Errors are those
// of [Parse] and MirrorBlock, and *[MergeError].
func Merge(name string, data []byte, t template.Template, patterns []provider.Pattern) ([]byte, error) {
	ours, err := MirrorBlock(t, patterns)
	if err != nil {
		return nil, err
	}
	wanted, err := Parse(name, []byte(ours))
	if err != nil {
		return nil, err
	}
	methods := wanted.Installation.Methods
	text, newline := withoutCR(data)
	f, err := parseFile(name, []byte(text))
	if err != nil {
		return nil, err
	}
	if f.json {
		return nil, &MergeError{stricthcl.Position{File: name}, "the file is in JSON syntax, into which nothing is written", jsonMember(methods)}
	}
	if blocks, _ := f.installationsIn(); len(blocks) > 1 {
		return nil, &MergeError{blocks[1].at, "a second provider_installation block; the first is at " + blocks[0].at.String(), ours}
	}
	there, err := single(f, nil)
	if err != nil {
		return nil, err
	}
	if i := there.Installation; i != nil && sameMethods(i.Methods, methods) && len(i.DevOverrides) == 0 {
		return data, nil
	}
	merged, err := splice(f, text, there.Installation, ours, methods[0])
	if err != nil {
		return nil, err
	}
	merged = strings.ReplaceAll(merged, "\n", newline)
	// What was written has to be what is read.
	if c, err := Parse(name, []byte(merged)); err != nil || c.Installation == nil || !sameMethods(c.Installation.Methods, methods) {
		return nil, &MergeError{stricthcl.Position{File: name}, "the block can't be put into the file so that it is read as it is meant", ours}
	}
	return []byte(merged), nil
}

// splice puts the block ours, with a method for a mirror, into the text of a file.
func splice(f file, text string, there *Installation, ours string, mirror Method) (string, error) {
	if there == nil {
		return appended(text, ours), nil
	}
	if strings.Contains(text, "\r\n") { // the parser counts them otherwise
		return "", &MergeError{there.Position, "there is a provider_installation block already, in a file of mixed line endings", ours}
	}
	block := f.items[slices.IndexFunc(f.items, func(i *ast.ObjectItem) bool { return keyOf(i, 0) == "provider_installation" })]
	body, _ := f.isBlock(block, 0)
	begin, end := block.Pos().Offset, body.Rbrace.Offset+1
	if !isWritten(*there, text[begin:end]) {
		return "", byHand(text, begin, body, *there, ours, mirror)
	}
	return text[:begin] + strings.TrimSuffix(ours, "\n") + text[end:], nil
}

// withoutCR returns a text with bare line feeds, and how its lines end; a text that mixes
// both is left alone.
func withoutCR(data []byte) (text, newline string) {
	if n := bytes.Count(data, []byte("\r\n")); n > 0 && n == bytes.Count(data, []byte("\n")) {
		return strings.ReplaceAll(string(data), "\r\n", "\n"), "\r\n"
	}
	return string(data), "\n"
}

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

// isWritten reports whether a block's text is what MirrorBlock writes.
func isWritten(i Installation, text string) bool {
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

// byHand returns why a block that a user wrote is left alone, and a proposal: the block
// with the method of ours in place of those that it supersedes, or before all others.
func byHand(text string, begin int, body *ast.ObjectType, there Installation, ours string, mirror Method) *MergeError {
	problem := "there is a provider_installation block already, which tofu-oci did not write, or which was changed since"
	end := body.Rbrace.Offset + 1
	// 1. It may have the method, perhaps for more providers.
	for _, m := range there.Methods {
		if m.Kind == OCIMirror && m.Template.HCL() == mirror.Template.HCL() && len(m.Exclude) == 0 && areAmong(mirror.Include, m.Include) {
			its := fmt.Sprintf("; its oci_mirror block in line %d has these providers from this repository", m.Position.Line)
			return &MergeError{there.Position, problem + its, text[begin:end] + "\n"}
		}
	}
	// 2. Methods for none but these providers are removed, the last first.
	at := firstMethod(text, body)
	for _, i := range slices.Backward(body.List.Items) {
		superseded := slices.ContainsFunc(there.Methods, func(m Method) bool {
			return m.Kind == OCIMirror && m.Position.Line == i.Pos().Line && m.Position.Column == i.Pos().Column &&
				len(m.Include) > 0 && areAmong(m.Include, mirror.Include)
		})
		if !superseded {
			continue
		}
		at = lineStart(text, i.Pos().Offset)
		after := i.Val.(*ast.ObjectType).Rbrace.Offset + 1
		if strings.HasPrefix(text[after:], "\n") {
			after++
		}
		text, end = text[:at]+text[after:], end-(after-at)
	}
	before := text[begin:at]
	if !strings.HasSuffix(before, "\n") {
		before += "\n"
	}
	_, inside, _ := strings.Cut(ours, "\n")
	method, _, _ := strings.Cut(inside, "  direct {\n")
	return &MergeError{there.Position, problem, before + method + text[at:end] + "\n"}
}

func areAmong(patterns, others []provider.Pattern) bool {
	return !slices.ContainsFunc(patterns, func(p provider.Pattern) bool { return !slices.Contains(others, p) })
}

// firstMethod finds the beginning of the first method with its comment, or the end of
// a block without any. dev_overrides stands before all methods.
func firstMethod(text string, body *ast.ObjectType) int {
	at := body.Rbrace.Offset
	if i := slices.IndexFunc(body.List.Items, func(i *ast.ObjectItem) bool { return keyOf(i, 0) != string(DevOverrides) }); i >= 0 {
		first := body.List.Items[i]
		if at = first.Pos().Offset; first.LeadComment != nil {
			at = first.LeadComment.Pos().Offset
		}
	}
	return lineStart(text, at)
}

// lineStart returns the beginning of a line if only spaces precede an offset in it, or
// otherwise the offset.
func lineStart(text string, at int) int {
	if line := strings.TrimRight(text[:at], " \t"); strings.HasSuffix(line, "\n") {
		return len(line)
	}
	return at
}

// jsonMember writes methods of MirrorBlock as a member of a JSON file. OpenTofu misreads
// an object of objects, so each method is a list of one.
func jsonMember(methods []Method) string {
	var b strings.Builder
	b.WriteString("\"provider_installation\": {\n")
	for i, m := range methods {
		body := map[string]any{"exclude": names(m.Exclude)}
		if m.Kind == OCIMirror {
			body = map[string]any{"repository_template": m.Template.HCL(), "include": names(m.Include)}
		}
		var value strings.Builder
		encoder := json.NewEncoder(&value)
		encoder.SetEscapeHTML(false)
		_ = encoder.Encode([]any{body}) // of strings only
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
