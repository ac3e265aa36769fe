package configuration

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	hcljson "github.com/hashicorp/hcl/v2/json"
)

// maxReference limits the length of a reference in a string.
const maxReference = 1024

// reference returns the names in a reference, without indexes. For example, it returns
// "aws" and "west" for aws.west["a"]. If the expression is not a reference, it returns
// nil. In JSON, references are strings. OpenTofu also accepts string references in
// native syntax.
func reference(e hcl.Expression) []string {
	if text, ok := literal(e); ok {
		if len(text) > maxReference || tooComplex(text) {
			return nil
		}
		parsed, found := hclsyntax.ParseExpression([]byte(text), "", hcl.InitialPos)
		if found.HasErrors() {
			return nil
		}
		return referenceNames(parsed)
	}
	if hcljson.IsJSONExpression(e) {
		return nil
	}
	return referenceNames(e)
}

func referenceNames(e hcl.Expression) []string {
	switch e := e.(type) {
	case *hclsyntax.IndexExpr:
		return referenceNames(e.Collection)
	case *hclsyntax.RelativeTraversalExpr:
		return append(referenceNames(e.Source), steps(e.Traversal)...)
	}
	t, _ := hcl.AbsTraversalForExpr(e) // a provider can have the name null
	return steps(t)
}

func steps(t hcl.Traversal) []string {
	var all []string
	for _, step := range t {
		switch s := step.(type) {
		case hcl.TraverseRoot:
			all = append(all, s.Name)
		case hcl.TraverseAttr:
			all = append(all, s.Name)
		}
	}
	return all
}

// importedType returns the resource type in an import block's "to" argument. For
// module.a["x"].aws_instance.b[0], it returns "aws_instance".
func importedType(to []string) (string, bool) {
	for len(to) > 2 && to[0] == "module" {
		to = to[2:]
	}
	if len(to) == 3 && to[0] == "data" {
		to = to[1:]
	}
	if len(to) != 2 || to[0] == "module" {
		return "", false
	}
	return to[0], true
}

// impliedName returns the local provider name at the start of a resource type.
func impliedName(resource string) string {
	name, _, _ := strings.Cut(resource, "_")
	return name
}
