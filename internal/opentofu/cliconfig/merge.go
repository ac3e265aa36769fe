package cliconfig

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/hcl/ast"

	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// MergeError means that the user must merge a provider_installation block manually.
type MergeError struct {
	stricthcl.Position
	// Problem describes the problem. It has no final period.
	Problem string
	// Block is a proposed provider_installation block in the file's syntax.
	Block string
}

func (e *MergeError) Error() string { return e.Position.String() + ": " + e.Problem }

// Kind returns [provider.Conflict].
func (e *MergeError) Kind() provider.ErrorKind { return provider.Conflict }

// Merge adds the block from [MirrorBlock] to a file's text and keeps the rest of the
// text byte for byte. If the file already contains an equal block, Merge keeps it.
// Merge replaces a different block only if MirrorBlock wrote that block and it has not
// been modified since. Otherwise, Merge returns a *[MergeError]. Merge also returns the
// errors from [Parse] and MirrorBlock.
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
		return nil, &MergeError{stricthcl.Position{File: name}, "tofu-oci does not modify files in JSON syntax", jsonMember(methods)}
	}
	if blocks, _ := f.installationsIn(); len(blocks) > 1 {
		return nil, &MergeError{blocks[1].at, "duplicate provider_installation block; the first is at " + blocks[0].at.String(), ours}
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
	// Check that the result has the intended meaning.
	if c, err := Parse(name, []byte(merged)); err != nil || c.Installation == nil || !sameMethods(c.Installation.Methods, methods) {
		return nil, &MergeError{stricthcl.Position{File: name}, "the block would have a different meaning in this file", ours}
	}
	return []byte(merged), nil
}

// splice inserts the block ours, which contains the method mirror, into a file's text.
func splice(f file, text string, there *Installation, ours string, mirror Method) (string, error) {
	if there == nil {
		return appended(text, ours), nil
	}
	if strings.Contains(text, "\r\n") { // the parser's offsets are wrong for text with CRLF
		return "", &MergeError{there.Position, "a provider_installation block already exists, and the file has mixed line endings", ours}
	}
	block := f.items[slices.IndexFunc(f.items, func(i *ast.ObjectItem) bool { return keyOf(i, 0) == "provider_installation" })]
	body, _ := f.isBlock(block, 0)
	begin, end := block.Pos().Offset, body.Rbrace.Offset+1
	if !isWritten(*there, text[begin:end]) {
		return "", manualMerge(text, begin, body, *there, ours, mirror)
	}
	return text[:begin] + strings.TrimSuffix(ours, "\n") + text[end:], nil
}

// withoutCR converts line endings to line feeds. It returns the text and its original
// line ending. If the text has mixed line endings, withoutCR returns the text
// unchanged.
func withoutCR(data []byte) (text, newline string) {
	if n := bytes.Count(data, []byte("\r\n")); n > 0 && n == bytes.Count(data, []byte("\n")) {
		return strings.ReplaceAll(string(data), "\r\n", "\n"), "\r\n"
	}
	return string(data), "\n"
}

// appended returns the text followed by a blank line and the block.
func appended(text, block string) string {
	switch {
	case text == "", strings.HasSuffix(text, "\n\n"):
		return text + block
	case strings.HasSuffix(text, "\n"):
		return text + "\n" + block
	}
	return text + "\n\n" + block
}

// isWritten reports whether the text is a block that MirrorBlock wrote.
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

// manualMerge returns the error for a block that a user wrote. The error proposes the
// user's block with the method mirror. This method comes first or replaces the methods
// that it supersedes. The direct methods of the proposed block exclude the providers of
// all mirrors.
func manualMerge(text string, begin int, body *ast.ObjectType, there Installation, ours string, mirror Method) *MergeError {
	problem := "the file already has a provider_installation block that was not written by tofu-oci or was changed later"
	// 1. Check whether the block already contains the method, perhaps for more
	// providers.
	same := slices.IndexFunc(there.Methods, func(m Method) bool {
		return m.Kind == OCIMirror && m.Template.HCL() == mirror.Template.HCL() && len(m.Exclude) == 0 && areAmong(mirror.Include, m.Include)
	})
	if same >= 0 {
		problem += fmt.Sprintf("; its oci_mirror block on line %d already installs these providers from this repository", there.Methods[same].Position.Line)
	}
	// 2. Find the methods that are used only for these providers.
	isSuperseded := func(m Method) bool {
		return same < 0 && m.Kind == OCIMirror && len(m.Include) > 0 && areAmong(m.Include, mirror.Include)
	}
	proposed := Installation{Methods: append([]Method{mirror}, slices.DeleteFunc(slices.Clone(there.Methods), isSuperseded)...)}
	// 3. Replace these methods, and extend the direct methods.
	_, inside, _ := strings.Cut(ours, "\n")
	method, _, _ := strings.Cut(inside, "  direct {\n")
	var edits []edit
	first := firstMethod(text, body)
	for _, i := range body.List.Items {
		at := slices.IndexFunc(there.Methods, func(m Method) bool { return m.Position.Line == i.Pos().Line && m.Position.Column == i.Pos().Column })
		if at < 0 {
			continue
		}
		content := i.Val.(*ast.ObjectType)
		switch m := there.Methods[at]; {
		case isSuperseded(m):
			e := edit{from: lineStart(text, i.Pos().Offset), to: content.Rbrace.Offset + 1, text: method}
			if strings.HasPrefix(text[e.to:], "\n") {
				e.to++
			}
			edits = append(edits, e)
			method = "" // only the first one is replaced
		case m.Kind == Direct:
			if _, open := proposed.Overlap(m); len(open) > 0 {
				edits = append(edits, exclusion(text, content, open))
			}
		}
	}
	if same < 0 {
		edits = slices.Insert(edits, 0, edit{first, first, method})
	}
	return &MergeError{there.Position, problem, apply(text[:body.Rbrace.Offset+1], edits)[begin:] + "\n"}
}

// edit replaces a part of a text.
type edit struct {
	from, to int // offsets in bytes
	text     string
}

// apply applies edits, which must be sorted and must not overlap. Blocks start on a new
// line.
func apply(text string, edits []edit) string {
	for _, e := range slices.Backward(edits) {
		before := text[:e.from]
		if strings.HasSuffix(e.text, "}\n") && !strings.HasSuffix(before, "\n") {
			before += "\n"
		}
		text = before + e.text + text[e.to:]
	}
	return text
}

// exclusion returns the edit that adds patterns to the exclude list of a method's block.
func exclusion(text string, body *ast.ObjectType, patterns []provider.Pattern) edit {
	added := strings.Trim(listOf(patterns), "[]")
	if old := literals(body, "exclude"); len(old) > 0 {
		last := old[len(old)-1].Token
		at := last.Pos.Offset + len(last.Text)
		return edit{at, at, ", " + added}
	}
	for _, i := range body.List.Filter("exclude").Items {
		if empty, ok := i.Val.(*ast.ListType); ok {
			return edit{empty.Lbrack.Offset + 1, empty.Lbrack.Offset + 1, added}
		}
	}
	at := body.Lbrace.Offset + 1
	line := "\n    exclude = [" + added + "]"
	if rest := strings.TrimLeft(text[at:], " \t"); !strings.HasPrefix(rest, "\n") {
		line += "\n  "
	}
	return edit{at, at, line}
}

func areAmong(patterns, others []provider.Pattern) bool {
	return !slices.ContainsFunc(patterns, func(p provider.Pattern) bool { return !slices.Contains(others, p) })
}

// firstMethod returns the offset of the first method, including its comment. If the
// block is empty, firstMethod returns the offset of the block's end. A dev_overrides
// block precedes all methods.
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

// lineStart returns the offset of the line's start if only spaces precede the given
// offset. Otherwise, it returns the given offset.
func lineStart(text string, at int) int {
	if line := strings.TrimRight(text[:at], " \t"); strings.HasSuffix(line, "\n") {
		return len(line)
	}
	return at
}

// jsonMember formats the methods from MirrorBlock as a member of a JSON object. Each
// method is a list with one object, because OpenTofu misreads nested objects.
func jsonMember(methods []Method) string {
	var b strings.Builder
	b.WriteString("\"provider_installation\": {\n")
	for i, m := range methods {
		body := map[string]any{"exclude": text.Strings(m.Exclude)}
		if m.Kind == OCIMirror {
			body = map[string]any{"repository_template": m.Template.HCL(), "include": text.Strings(m.Include)}
		}
		var value strings.Builder
		encoder := json.NewEncoder(&value)
		encoder.SetEscapeHTML(false)
		_ = encoder.Encode([]any{body}) // encoding strings can't fail
		comma := ","
		if i == len(methods)-1 {
			comma = ""
		}
		fmt.Fprintf(&b, "  %q: %s%s\n", m.Kind, strings.TrimSpace(value.String()), comma)
	}
	b.WriteString("}\n")
	return b.String()
}
