package configuration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tofu-oci/tofu-oci/internal/stricthcl"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// scope resolves references in a module's expressions.
type scope struct {
	module *module
	// arguments contains the variables' values, which refer to the caller's scope.
	arguments map[string]hcl.Expression
	caller    *scope
	// files returns the root module's variables from .tfvars files. environment
	// contains the values of TF_VAR_NAME.
	files       func() map[string]hcl.Expression
	environment map[string]string
	// unknown reports whether variables can have unknown values.
	unknown bool
}

// variable is a variable block.
type variable struct {
	// value is the default, or nil.
	value hcl.Expression
	// kind is the type constraint, or nil.
	kind hcl.Expression
	// notNull reports whether the default replaces null.
	notNull bool
	// OpenTofu rejects sources and versions that depend on variables that are sensitive,
	// ephemeral, not constant, or declared twice.
	isSensitive, isEphemeral, isDynamic, isTwice bool
}

// refused explains why OpenTofu rejects references to the variable, or returns "".
func (b variable) refused() string {
	switch {
	case b.isTwice:
		return "is declared twice"
	case b.isSensitive:
		return "is sensitive"
	case b.isEphemeral:
		return "is ephemeral"
	case b.isDynamic:
		return "is not constant"
	}
	return ""
}

// constraint returns the variable's type and the defaults of optional attributes.
func (b variable) constraint() (cty.Type, *typeexpr.Defaults, error) {
	if b.kind == nil {
		return cty.DynamicPseudoType, nil, nil
	}
	switch hcl.ExprAsKeyword(b.kind) {
	case "list":
		return cty.List(cty.DynamicPseudoType), nil, nil
	case "map":
		return cty.Map(cty.DynamicPseudoType), nil, nil
	}
	if native, ok := b.kind.(hclsyntax.Expression); ok && !isCheap(native) {
		return cty.NilType, nil, errors.New("a variable's type has a default that is an expression")
	}
	t, defaults, wrong := typeexpr.TypeConstraintWithDefaults(b.kind)
	if wrong.HasErrors() {
		return t, nil, errors.New("a variable has an invalid type")
	}
	return t, defaults, nil
}

// isCheap reports whether an expression contains no loops, operators, or templates, so
// that its evaluation takes no more time and memory than reading it.
func isCheap(e hclsyntax.Expression) bool {
	cheap := true
	_ = hclsyntax.VisitAll(e, func(node hclsyntax.Node) hcl.Diagnostics {
		switch node := node.(type) {
		case *hclsyntax.ForExpr, *hclsyntax.SplatExpr, *hclsyntax.BinaryOpExpr, *hclsyntax.ConditionalExpr, *hclsyntax.TemplateJoinExpr:
			cheap = false
		case *hclsyntax.TemplateExpr:
			_, isLiteral := literal(node)
			cheap = cheap && isLiteral
		}
		return nil
	})
	return cheap
}

// variable returns the value at a path in a variable. It converts the value to the
// variable's type.
func (v evaluation) variable(name string, path []string) (cty.Value, error) {
	s := v.scope
	declared, ok := s.module.variables[name]
	if !ok {
		return cty.NilVal, v.errorf("depends on var.%s, which isn't declared", name)
	}
	if reason := declared.refused(); reason != "" {
		return cty.NilVal, v.errorf("depends on var.%s, which %s", name, reason)
	}
	if s.unknown {
		return cty.NilVal, v.unsupported("depends on var.%s, whose value is unknown to tofu-oci", name)
	}
	t, defaults, err := declared.constraint()
	if err != nil {
		return cty.NilVal, err
	}
	e, from, err := v.argument(name, declared, t)
	if err != nil {
		return cty.NilVal, err
	}
	v.scope = from
	if declared.notNull {
		if given, err := v.value(e, nil); err == nil && given.IsNull() {
			if e, v.scope = declared.value, nil; e == nil || isNull(e) {
				return cty.NilVal, v.errorf("depends on var.%s, which must not be null", name)
			}
		}
	}
	found, err := v.withDefaults(e, path, defaults)
	if errors.Is(err, errNoElement) && isOptional(t, path) {
		if parent, err := v.withDefaults(e, path[:len(path)-1], defaults); err == nil && !parent.IsNull() {
			return cty.NullVal(cty.DynamicPseudoType), nil
		}
	}
	if err != nil {
		return cty.NilVal, err
	}
	if t, ok = elementType(t, path); !ok {
		return cty.NilVal, v.errorf("depends on an element that the type of var.%s doesn't have", name)
	}
	if !found.IsNull() && !found.Type().IsPrimitiveType() {
		return found, nil
	}
	return convert.Convert(found, t)
}

// withDefaults is like [evaluation.value], but attributes that are missing or null have
// the defaults of the variable's type.
func (v evaluation) withDefaults(e hcl.Expression, path []string, defaults *typeexpr.Defaults) (cty.Value, error) {
	for i, key := range path {
		if defaults == nil {
			break
		}
		inner := defaults.Children[key]
		if inner == nil {
			inner = defaults.Children[""] // of lists and maps
		}
		if other, exists := defaults.DefaultValues[key]; exists {
			found, err := v.value(e, path[:i+1])
			if errors.Is(err, errNoElement) || err == nil && found.IsNull() {
				if inner != nil && !other.IsNull() {
					other = inner.Apply(other)
				}
				return v.elementOf(other, path[i+1:])
			}
		}
		defaults = inner
	}
	return v.value(e, path)
}

// elementOf returns the element at a path in a value.
func (v evaluation) elementOf(found cty.Value, path []string) (cty.Value, error) {
	for _, key := range path {
		t := found.Type()
		index, err := strconv.Atoi(key)
		switch {
		case found.IsNull():
			return cty.NilVal, v.errorf("depends on the element %q of a value that is null", key)
		case t.IsObjectType() && t.HasAttribute(key):
			found = found.GetAttr(key)
		case t.IsMapType() && found.HasIndex(cty.StringVal(key)).True():
			found = found.Index(cty.StringVal(key))
		case (t.IsListType() || t.IsTupleType()) && err == nil && index >= 0 && index < found.LengthInt():
			found = found.Index(cty.NumberIntVal(int64(index)))
		default:
			return cty.NilVal, v.noElement(key)
		}
	}
	if !found.IsNull() && !found.Type().IsPrimitiveType() {
		return cty.EmptyObjectVal, nil
	}
	return found, nil
}

// argument returns the expression for a variable's value and the expression's scope.
func (v evaluation) argument(name string, declared variable, t cty.Type) (hcl.Expression, *scope, error) {
	s := v.scope
	if e, given := s.arguments[name]; given {
		return e, s.caller, nil
	}
	if s.files != nil {
		if e, given := s.files()[name]; given {
			return e, nil, nil
		}
	}
	text, given := s.environment[name]
	switch {
	case given && (declared.kind == nil || t.IsPrimitiveType()):
		return &hclsyntax.LiteralValueExpr{Val: cty.StringVal(text)}, nil, nil
	case given && len(text) <= maxConstant && !tooComplex(text):
		if e, wrong := hclsyntax.ParseExpression([]byte(text), "TF_VAR_"+name, hcl.InitialPos); !wrong.HasErrors() {
			return e, nil, nil
		}
	}
	switch {
	case given:
		return nil, nil, v.errorf("depends on var.%s, and TF_VAR_%s is invalid or too long", name, name)
	case declared.value == nil:
		return nil, nil, v.errorf("depends on var.%s, which has no value", name)
	}
	return declared.value, nil, nil
}

// elementType returns the type of the element at a path.
func elementType(t cty.Type, path []string) (cty.Type, bool) {
	for _, key := range path {
		switch i, err := strconv.Atoi(key); {
		case t == cty.DynamicPseudoType:
		case t.IsObjectType() && t.HasAttribute(key):
			t = t.AttributeType(key)
		case t.IsMapType() || t.IsListType():
			t = t.ElementType()
		case t.IsTupleType() && err == nil && i >= 0 && i < t.Length():
			t = t.TupleElementType(i)
		default:
			return t, false
		}
	}
	return t, true
}

// isOptional reports whether the element at a path is an optional attribute.
func isOptional(t cty.Type, path []string) bool {
	if len(path) == 0 {
		return false
	}
	last := len(path) - 1
	t, ok := elementType(t, path[:last])
	return ok && t.IsObjectType() && t.HasAttribute(path[last]) && t.AttributeOptional(path[last])
}

// rootScope returns the scope of the root module in a directory.
func (r *reader) rootScope(ctx context.Context, dir string, m *module) *scope {
	return &scope{
		module: m, environment: r.options.Variables, unknown: r.options.UnknownVariables,
		files: sync.OnceValue(func() map[string]hcl.Expression { return r.variableFiles(ctx, dir) }),
	}
}

// variableFiles reads the .tfvars files that OpenTofu loads automatically. Later files
// take precedence.
func (r *reader) variableFiles(ctx context.Context, dir string) map[string]hcl.Expression {
	found := []string{"terraform.tfvars", "terraform.tfvars.json"}
	entries, err := os.ReadDir(dir)
	if err != nil {
		r.add(stricthcl.Position{File: dir}, "reading the directory: %w", bare(err))
	}
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, ".auto.tfvars") || strings.HasSuffix(name, ".auto.tfvars.json") {
			found = append(found, name)
		}
	}
	values := map[string]hcl.Expression{}
	for _, name := range found {
		if !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == name }) {
			continue
		}
		path := filepath.Join(dir, name)
		body, ok := r.body(ctx, path)
		if !ok {
			continue
		}
		attributes, wrong := body.JustAttributes()
		r.diagnostics(path, wrong)
		maps.Copy(values, r.kept(attributes))
	}
	return values
}

// named reads locals and variables. Blocks in override files change existing ones.
func (r *reader) named(m *module, b *hcl.Block, override bool) {
	all, _ := b.Body.JustAttributes() // validation blocks are ignored
	kept := r.kept(all)
	if b.Type == "locals" {
		for name, e := range kept {
			switch _, exists := m.locals[name]; {
			case override == exists:
				m.locals[name] = e
			case exists:
				m.locals[name] = nil // declared twice
			}
		}
		return
	}
	v, exists := m.variables[b.Labels[0]]
	if override && !exists {
		return
	}
	v.isTwice = v.isTwice || exists && !override
	if e, given := kept["default"]; given {
		v.value = e
	}
	if e, given := kept["type"]; given {
		v.kind = e
	}
	for name, flag := range map[string]*bool{"sensitive": &v.isSensitive, "ephemeral": &v.isEphemeral, "nullable": &v.notNull, "const": &v.isDynamic} {
		if e, given := kept[name]; given {
			text, _ := primitive(e)
			*flag = text == fmt.Sprint(name == "sensitive" || name == "ephemeral")
		}
	}
	m.variables[b.Labels[0]] = v
}

// kept returns the expressions of attributes. If the expressions exceed maxKept, kept
// drops them, so references to them cannot be resolved.
func (r *reader) kept(all hcl.Attributes) map[string]hcl.Expression {
	kept := map[string]hcl.Expression{}
	for name, a := range all {
		at := a.Expr.Range()
		if r.keptBytes += at.End.Byte - at.Start.Byte; r.keptBytes <= maxKept {
			kept[name] = a.Expr
		}
	}
	return kept
}
