package configuration

import (
	"path"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// call is a module block.
type call struct {
	// source is empty when it is an expression, or of an override none.
	source, version string
	at              Position
	sourceAt        Position
}

// call reads a module block.
func (r *reader) call(b *hcl.Block, override bool) (call, bool) {
	c := call{at: position(b.DefRange)}
	content, ok := r.arguments(b, attributes("source", "version"))
	if !ok {
		return c, false
	}
	if name := b.Labels[0]; !hclsyntax.ValidIdentifier(name) {
		r.add(position(b.LabelRanges[0]), "%q is no name of a module", name)
		return c, false
	}
	source, given := content.Attributes["source"]
	if !given && !override {
		r.add(c.at, "the module has no source")
		return c, false
	}
	if given {
		c.sourceAt = position(source.Expr.Range())
		c.source, _ = literal(source.Expr)
	}
	if version, given := content.Attributes["version"]; given {
		c.version, _ = literal(version.Expr)
	}
	return c, true
}

// overrides puts what an override file says over a call that is there.
func (c call) overrides(calls map[string]call, name string) {
	there, exists := calls[name]
	if !exists {
		return
	}
	if c.sourceAt != (Position{}) {
		there.source, there.sourceAt = c.source, c.sourceAt
	}
	if c.version != "" {
		there.version = c.version
	}
	calls[name] = there
}

// local gives the directory that a source means, relative to the module that
// calls, with slashes. A source is local by how it starts, as OpenTofu has it.
func local(source string) (dir string, ok bool) {
	for _, start := range []string{"./", "../", `.\`, `..\`} {
		if strings.HasPrefix(source, start) {
			return path.Clean(strings.ReplaceAll(source, `\`, "/")), true
		}
	}
	return "", false
}
