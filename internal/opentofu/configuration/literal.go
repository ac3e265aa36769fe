package configuration

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	hcljson "github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// maxExponent limits the exponents of formatted numbers. Without the limit, 1e600000000
// would be formatted as 600 megabytes of digits.
const maxExponent = 256

// literal returns the value of a literal string.
func literal(e hcl.Expression) (string, bool) {
	v, ok := value(e)
	if !ok || v.IsNull() || v.Type() != cty.String {
		return "", false
	}
	return v.AsString(), true
}

// primitive is like [literal], but also accepts numbers and Booleans.
func primitive(e hcl.Expression) (string, bool) {
	v, ok := value(e)
	if !ok {
		return "", false
	}
	return textOf(v)
}

// textOf returns the text of a primitive value.
func textOf(v cty.Value) (string, bool) {
	if v.IsNull() || !v.IsKnown() || !v.Type().IsPrimitiveType() {
		return "", false
	}
	if v.Type() == cty.Number {
		if exponent := v.AsBigFloat().MantExp(nil); exponent > maxExponent || exponent < -maxExponent {
			return "", false
		}
	}
	text, err := convert.Convert(v, cty.String)
	if err != nil {
		return "", false
	}
	return text.AsString(), true
}

func isNull(e hcl.Expression) bool {
	v, ok := value(e)
	return ok && v.IsNull()
}

// value returns the value of a literal. It evaluates no other expressions, because even
// expressions without references can require unlimited time and memory. Examples are
// nested loops and formatted numbers.
func value(e hcl.Expression) (cty.Value, bool) {
	switch native := e.(type) {
	case *hclsyntax.ParenthesesExpr:
		return value(native.Expression)
	case *hclsyntax.ObjectConsKeyExpr:
		if name := hcl.ExprAsKeyword(native); name != "" {
			return cty.StringVal(name), true
		}
		return value(native.Wrapped)
	case *hclsyntax.TemplateExpr:
		for _, part := range native.Parts {
			if text, ok := part.(*hclsyntax.LiteralValueExpr); !ok || text.Val.Type() != cty.String {
				return cty.NilVal, false
			}
		}
	case *hclsyntax.LiteralValueExpr:
	default:
		if !hcljson.IsJSONExpression(e) {
			return cty.NilVal, false
		}
	}
	v, found := e.Value(nil)
	return v, !found.HasErrors() && v.IsWhollyKnown()
}
