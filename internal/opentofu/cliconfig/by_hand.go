package cliconfig

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/hcl/ast"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// byHand says why a block that somebody wrote is left alone, and what it may be: with
// the method of ours in the place of those that it stands for, or before all others.
func byHand(text string, there Installation, ours string, method Method) *MergeError {
	problem := "there is a provider_installation block already, which tofu-oci did not write, or which was changed since"
	begin, end := installationIn(text)
	if end == 0 { // the parser has it in no form that is known here
		return &MergeError{there.Position, problem, ours}
	}
	// 1. It may have the method, perhaps for more providers.
	for _, m := range there.Methods {
		if m.Kind == OCIMirror && m.Template.HCL() == method.Template.HCL() && len(m.Exclude) == 0 && areAmong(method.Include, m.Include) {
			problem += fmt.Sprintf("; its oci_mirror block in line %d has these providers from this repository", m.Position.Line)
			return &MergeError{there.Position, problem, text[begin:end] + "\n"}
		}
	}
	// 2. Methods for nothing but these providers go, the last first.
	installation := installationOf(text).Val.(*ast.ObjectType)
	at := firstMethod(text, installation)
	written := methodOf(ours)
	for _, i := range slices.Backward(installation.List.Items) {
		if !isSuperseded(i, there, method) {
			continue
		}
		at = lineOf(text, i.Pos().Offset)
		after := i.Val.(*ast.ObjectType).Rbrace.Offset + 1
		if strings.HasPrefix(text[after:], "\n") {
			after++
		}
		text, end = text[:at]+text[after:], end-(after-at)
	}
	return &MergeError{there.Position, problem, text[begin:at] + inLine(text[begin:at]) + written + text[at:end] + "\n"}
}

// isSuperseded tells whether an item of the block is a mirror for none but the providers
// of a method.
func isSuperseded(i *ast.ObjectItem, there Installation, method Method) bool {
	return slices.ContainsFunc(there.Methods, func(m Method) bool {
		return m.Kind == OCIMirror && m.Position.Line == i.Pos().Line && m.Position.Column == i.Pos().Column &&
			len(m.Include) > 0 && areAmong(m.Include, method.Include)
	})
}

// areAmong tells whether all patterns are among others.
func areAmong(patterns, others []provider.Pattern) bool {
	return !slices.ContainsFunc(patterns, func(p provider.Pattern) bool { return !slices.Contains(others, p) })
}

// inLine gives what ends the line that a text breaks off in.
func inLine(text string) string {
	if strings.HasSuffix(text, "\n") {
		return ""
	}
	return "\n"
}

// firstMethod finds the beginning of the first method with its comment, or the end of
// a block without any. dev_overrides stands before all methods.
func firstMethod(text string, installation *ast.ObjectType) int {
	at := installation.Rbrace.Offset
	for _, i := range installation.List.Items {
		if keyOf(i) == string(DevOverrides) {
			continue
		}
		if at = i.Pos().Offset; i.LeadComment != nil {
			at = i.LeadComment.Pos().Offset
		}
		break
	}
	return lineOf(text, at)
}

// lineOf gives the beginning of the line that something has for itself, or where it is.
func lineOf(text string, at int) int {
	if line := strings.TrimRight(text[:at], " \t"); strings.HasSuffix(line, "\n") {
		return len(line)
	}
	return at
}

// methodOf gives the oci_mirror in a block of MirrorBlock.
func methodOf(block string) string {
	_, inside, _ := strings.Cut(block, "\n")
	method, _, _ := strings.Cut(inside, "  direct {\n")
	return method
}
