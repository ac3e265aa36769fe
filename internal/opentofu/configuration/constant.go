package configuration

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	hcljson "github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

const (
	// maxConstant limits the length of a template's value in bytes.
	maxConstant = 4096
	// maxReferences is the maximum number of nested references.
	maxReferences = 64
	// maxSteps is the maximum number of expressions and elements that can be visited
	// for all sources in a configuration.
	maxSteps = 1 << 20
)

// errNoElement is returned for an element that an object or list doesn't have.
var errNoElement = errors.New("does not exist")

// unsupportedError is returned for expressions that OpenTofu might be able to evaluate.
type unsupportedError struct{ error }

func (v evaluation) unsupported(format string, args ...any) error {
	return unsupportedError{v.errorf(format, args...)}
}

func (v evaluation) noElement(key string) error {
	return v.errorf("depends on the element %q, which %w", key, errNoElement)
}

// evaluation resolves the expressions that OpenTofu evaluates before it installs
// modules. These expressions are literals, templates, conditions, operators, and
// references to locals and variables. Functions and any other references are errors.
// evaluation visits only the targets of references and creates no objects, so the
// number of steps limits an expression's cost.
type evaluation struct {
	reader *reader
	// scope resolves references. If nil, references are errors.
	scope *scope
	// subject is the name of the argument in errors.
	subject string
	depth   int
}

func (v evaluation) errorf(format string, args ...any) error {
	return fmt.Errorf("the "+v.subject+" "+format, args...)
}

// value returns the value at a path of attributes and indexes in an expression. Instead
// of an object or a list, it returns an empty object.
func (v evaluation) value(e hcl.Expression, path []string) (cty.Value, error) {
	v.depth++
	if v.reader.steps++; v.reader.steps > maxSteps || v.depth > maxReferences {
		return cty.NilVal, v.errorf("refers to itself or has too many references")
	}
	switch e := e.(type) {
	case *hclsyntax.ParenthesesExpr:
		return v.value(e.Expression, path)
	case *hclsyntax.TemplateWrapExpr:
		return v.value(e.Wrapped, path)
	case *hclsyntax.ScopeTraversalExpr:
		return v.reference(e.Traversal.RootName(), append(keys(e.Traversal[1:]), path...))
	case *hclsyntax.RelativeTraversalExpr:
		return v.value(e.Source, append(keys(e.Traversal), path...))
	case *hclsyntax.IndexExpr:
		key, err := v.text(e.Key)
		if err != nil {
			return cty.NilVal, err
		}
		return v.value(e.Collection, append([]string{key}, path...))
	case *hclsyntax.ConditionalExpr:
		return v.condition(e, path)
	case *hclsyntax.FunctionCallExpr:
		return cty.NilVal, v.unsupported("calls the function %s", e.Name)
	}
	if len(path) > 0 {
		return v.element(e, path)
	}
	switch e := e.(type) {
	case *hclsyntax.LiteralValueExpr:
		return e.Val, nil
	case *hclsyntax.TemplateExpr:
		return v.template(e)
	case *hclsyntax.BinaryOpExpr:
		return v.operation(e.Op, e.LHS, e.RHS)
	case *hclsyntax.UnaryOpExpr:
		return v.operation(e.Op, e.Val)
	case *hclsyntax.ObjectConsExpr, *hclsyntax.TupleConsExpr:
		return cty.EmptyObjectVal, nil
	}
	if hcljson.IsJSONExpression(e) {
		return v.json(e)
	}
	return cty.NilVal, v.unsupported("has an unsupported form")
}

// text returns the value of an expression as text. The value must be a string, a
// number, or a Boolean.
func (v evaluation) text(e hcl.Expression) (string, error) {
	found, err := v.value(e, nil)
	if err != nil {
		return "", err
	}
	if found.IsNull() {
		return "", v.errorf("is null")
	}
	text, ok := textOf(found)
	if !ok {
		return "", v.errorf("is not a string")
	}
	return text, nil
}

// optionalText is like text, but also accepts null.
func (v evaluation) optionalText(e hcl.Expression) (text string, isNull bool, err error) {
	if found, err := v.value(e, nil); err == nil && found.IsNull() {
		return "", true, nil
	}
	text, err = v.text(e)
	return text, false, err
}

func (v evaluation) template(e *hclsyntax.TemplateExpr) (cty.Value, error) {
	var b strings.Builder
	for _, part := range e.Parts {
		text, err := v.text(part)
		if err != nil {
			return cty.NilVal, err
		}
		if b.WriteString(text); b.Len() > maxConstant {
			return cty.NilVal, v.errorf("exceeds %d bytes", maxConstant)
		}
	}
	return cty.StringVal(b.String()), nil
}

func (v evaluation) condition(e *hclsyntax.ConditionalExpr, path []string) (cty.Value, error) {
	found, err := v.value(e.Condition, nil)
	if err != nil {
		return cty.NilVal, err
	}
	holds, err := convert.Convert(found, cty.Bool)
	if err != nil || holds.IsNull() {
		return cty.NilVal, v.errorf("has a condition that is neither true nor false")
	}
	result, other := e.TrueResult, e.FalseResult
	if holds.False() {
		result, other = other, result
	}
	// OpenTofu evaluates both results.
	if _, err := v.value(other, nil); err != nil {
		if _, ok := errors.AsType[unsupportedError](err); !ok {
			return cty.NilVal, err
		}
	}
	return v.value(result, path)
}

func (v evaluation) operation(op *hclsyntax.Operation, sides ...hcl.Expression) (cty.Value, error) {
	var operands []cty.Value
	isCollection, isNull := false, false
	for i, side := range sides {
		found, err := v.value(side, nil)
		if err == nil {
			isCollection, isNull = isCollection || !found.Type().IsPrimitiveType() && !found.IsNull(), isNull || found.IsNull()
			found, err = convert.Convert(found, op.Impl.Params()[i].Type)
		}
		if err != nil {
			return cty.NilVal, err
		}
		operands = append(operands, found)
	}
	if isCollection && !isNull {
		return cty.NilVal, v.errorf("compares objects or lists")
	}
	return op.Impl.Call(operands)
}

// element follows a path into an object or list.
func (v evaluation) element(e hcl.Expression, path []string) (cty.Value, error) {
	if isNull(e) {
		return cty.NilVal, v.errorf("depends on the element %q of a value that is null", path[0])
	}
	var found hcl.Expression
	if pairs, wrong := hcl.ExprMap(e); !wrong.HasErrors() {
		v.reader.steps += len(pairs)
		for _, pair := range pairs {
			key, err := v.key(pair.Key)
			if err != nil {
				return cty.NilVal, err
			}
			if key == path[0] {
				found = pair.Value
			}
		}
	} else if list, wrong := hcl.ExprList(e); !wrong.HasErrors() {
		v.reader.steps += len(list)
		for i, element := range list {
			if fmt.Sprint(i) == path[0] {
				found = element
			}
		}
	}
	if found == nil {
		return cty.NilVal, v.noElement(path[0])
	}
	return v.value(found, path[1:])
}

// key returns a key of an object. Names are keys, even if they are the names of values.
func (v evaluation) key(e hcl.Expression) (string, error) {
	if native, ok := e.(*hclsyntax.ObjectConsKeyExpr); ok {
		if key, ok := primitive(native); ok {
			return key, nil
		}
		e = native.Wrapped
	}
	return v.text(e)
}

// json returns the value of an expression in JSON syntax. If references are allowed,
// strings are templates.
func (v evaluation) json(e hcl.Expression) (cty.Value, error) {
	v.reader.steps += e.Range().End.Byte - e.Range().Start.Byte
	text, ok := literal(e)
	if !ok {
		found, ok := value(e)
		if !ok || !found.IsNull() && !found.Type().IsPrimitiveType() {
			return cty.NilVal, v.errorf("is not a string")
		}
		return found, nil
	}
	if v.scope == nil || !strings.ContainsAny(text, "$%") {
		return cty.StringVal(text), nil
	}
	if len(text) > maxConstant || tooComplex(text) {
		return cty.NilVal, v.errorf("is too long or nested too deeply")
	}
	parsed, wrong := hclsyntax.ParseTemplate([]byte(text), e.Range().Filename, hcl.InitialPos)
	if wrong.HasErrors() {
		return cty.NilVal, v.errorf("is not a valid template")
	}
	return v.value(parsed, nil)
}

// reference resolves a reference to a local or a variable.
func (v evaluation) reference(root string, path []string) (cty.Value, error) {
	switch name := strings.Join(slices.Concat([]string{root}, path), "."); {
	case v.scope == nil:
		return cty.NilVal, v.errorf("depends on %s, but references are not allowed here", name)
	case v.reader.keptBytes > maxKept:
		return cty.NilVal, errors.New("the locals, variables, and arguments of the configuration are too large")
	case root == "local" && len(path) > 0:
		e, ok := v.scope.module.locals[path[0]]
		if !ok {
			return cty.NilVal, v.errorf("depends on local.%s, which isn't declared", path[0])
		}
		if e == nil {
			return cty.NilVal, v.errorf("depends on local.%s, which is declared twice", path[0])
		}
		return v.value(e, path[1:])
	case root == "var" && len(path) > 0:
		return v.variable(path[0], path[1:])
	default:
		return cty.NilVal, v.unsupported("depends on %s, but only local values and variables are supported", name)
	}
}

// keys returns the names and indexes of a traversal.
func keys(t hcl.Traversal) []string {
	var all []string
	for _, step := range t {
		switch s := step.(type) {
		case hcl.TraverseAttr:
			all = append(all, s.Name)
		case hcl.TraverseIndex:
			text, _ := textOf(s.Key)
			all = append(all, text)
		default: // a splat, which matches no element
			all = append(all, "*")
		}
	}
	return all
}
