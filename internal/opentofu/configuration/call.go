package configuration

import (
	"cmp"
	"maps"
	"path"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/pkg/provider"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	tfaddr "github.com/hashicorp/terraform-registry-address"
)

// call is a module block.
type call struct {
	at stricthcl.Position
	// sourceExpr and versionExpr are the arguments' expressions, or nil.
	sourceExpr, versionExpr hcl.Expression
	// arguments maps the module's variables to their values.
	arguments map[string]hcl.Expression

	// source and version are the values of the expressions in a scope. They are empty if
	// they cannot be resolved. In this case, unresolved explains why.
	source, version string
	unresolved      error
}

// call reads a module block.
func (r *reader) call(b *hcl.Block, override bool) (call, bool) {
	c := call{at: stricthcl.PositionOf(b.DefRange)}
	content, ok := r.arguments(b, attributes("source", "version"))
	if !ok {
		return c, false
	}
	if name := b.Labels[0]; !hclsyntax.ValidIdentifier(name) {
		r.add(stricthcl.PositionOf(b.LabelRanges[0]), "invalid module name %q", name)
		return c, false
	}
	source, given := content.Attributes["source"]
	if !given && !override {
		r.add(c.at, "the module has no source")
		return c, false
	}
	if given {
		c.sourceExpr = source.Expr
	}
	if version, given := content.Attributes["version"]; given {
		c.versionExpr = version.Expr
	}
	all, _ := b.Body.JustAttributes() // nested blocks are ignored
	c.arguments = r.kept(all)
	for _, escaping := range r.inner(b, hcl.BlockHeaderSchema{Type: "_"}) {
		all, _ = escaping.Body.JustAttributes()
		maps.Copy(c.arguments, r.kept(all))
	}
	return c, true
}

// addCall adds a call to a module. A call in an override file changes an existing call.
func (r *reader) addCall(m *module, c call, name string, override bool) {
	there, exists := m.calls[name]
	switch {
	case override && !exists:
		r.add(c.at, "an override file cannot add module %q", name)
		return
	case !override && exists:
		r.add(c.at, "module %q is already called at %s", name, there.at)
		return
	case !override:
		m.calls[name] = c
		return
	}
	if c.sourceExpr != nil {
		there.sourceExpr = c.sourceExpr
	}
	if c.versionExpr != nil {
		there.versionExpr = c.versionExpr
	}
	maps.Copy(there.arguments, c.arguments)
	m.calls[name] = there
}

// resolve returns the call with its source and version resolved in a scope.
func (r *reader) resolve(c call, s *scope) call {
	c.source, c.unresolved = evaluation{reader: r, scope: s, subject: "source"}.text(c.sourceExpr)
	if c.source == "" && c.unresolved == nil {
		r.add(c.at, "the source is empty")
	}
	if c.versionExpr == nil {
		return c
	}
	version, isNull, err := evaluation{reader: r, scope: s, subject: "version"}.optionalText(c.versionExpr)
	if err != nil || isNull {
		c.unresolved = cmp.Or(c.unresolved, err)
		return c
	}
	c.version = version
	r.checkVersion(c)
	return c
}

// checkVersion rejects versions that OpenTofu rejects. The version can't be empty, and
// only modules in registries have versions.
func (r *reader) checkVersion(c call) {
	at := stricthcl.PositionOf(c.versionExpr.Range())
	if _, err := provider.ParseModuleConstraint(c.version); err != nil {
		r.add(at, "%w", err)
	} else if strings.TrimSpace(c.version) == "" {
		r.add(at, "the version is empty")
	}
	if _, err := tfaddr.ParseModuleSource(c.source); err != nil && c.unresolved == nil {
		r.add(at, "a module can have a version only if its source is in a module registry")
	}
}

// local returns the directory of a local source. The directory is relative to the
// calling module and uses forward slashes. As in OpenTofu, the prefix of a source
// determines whether it is local.
func local(source string) (dir string, ok bool) {
	for _, start := range []string{"./", "../", `.\`, `..\`} {
		if strings.HasPrefix(source, start) {
			return path.Clean(strings.ReplaceAll(source, `\`, "/")), true
		}
	}
	return "", false
}
