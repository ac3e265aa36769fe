package configuration

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	tfaddr "github.com/hashicorp/terraform-registry-address"

	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// module contains the settings in a directory's files.
type module struct {
	required   map[string]entry
	requiredAt stricthcl.Position
	// providers maps names and aliases to provider blocks.
	providers map[string]block
	// resources maps kinds, types, and names to resources.
	resources map[string]use
	imports   []use
	calls     map[string]call
	tests     []test
	// Module sources can refer to locals and variables.
	locals    map[string]hcl.Expression
	variables map[string]variable
}

// block is a provider block.
type block struct {
	use
	constraint provider.Constraint
}

// use is a reference to a provider's local name.
type use struct {
	name string
	at   stricthcl.Position
}

// reader reads configuration directories within the limits and collects problems.
type reader struct {
	*problems
	options Options
	// packages contains the fetched packages.
	packages []Package
	// count is the number of files read so far, and bytes is their total size.
	count int
	bytes int64
	// parsing limits the parser's work, which depends more on the number of tokens than
	// on the files' size.
	parsing stricthcl.Budget
	// maxSteps limits steps, and maxKept limits keptBytes.
	steps, keptBytes int
}

// module reads the files in a directory, except for tests.
func (r *reader) module(ctx context.Context, dir string, found names) *module {
	m := &module{
		required: map[string]entry{}, providers: map[string]block{}, resources: map[string]use{}, calls: map[string]call{},
		locals: map[string]hcl.Expression{}, variables: map[string]variable{},
	}
	for i, name := range slices.Concat(found.primary, found.override) {
		for _, b := range r.blocks(ctx, filepath.Join(dir, name), topLevel) {
			r.addBlock(m, b, i >= len(found.primary))
		}
	}
	return m
}

// blocks reads a file and returns the blocks that a schema lists.
func (r *reader) blocks(ctx context.Context, path string, schema *hcl.BodySchema) hcl.Blocks {
	body, ok := r.body(ctx, path)
	if !ok {
		return nil
	}
	content, _, found := body.PartialContent(schema)
	if r.diagnostics(path, found) {
		return nil
	}
	return content.Blocks
}

// addBlock adds a block to a module. A block in an override file changes an existing
// block.
func (r *reader) addBlock(m *module, b *hcl.Block, override bool) {
	switch b.Type {
	case "terraform":
		r.addRequired(m, b, override)
	case "required_providers":
		r.add(stricthcl.PositionOf(b.DefRange), "a required_providers block must be inside a terraform block")
	case "provider":
		key, p, ok := r.provider(b)
		if _, exists := m.providers[key]; ok && (!override || !exists || !p.constraint.IsZero()) {
			m.providers[key] = p
		}
	case "module":
		if c, ok := r.call(b, override); ok {
			r.addCall(m, c, b.Labels[0], override)
		}
	case "resource", "data", "ephemeral":
		r.addResource(m, b, override)
	case "locals", "variable":
		r.named(m, b, override)
	case "check":
		if override {
			return // ignored, as are import blocks
		}
		for _, data := range r.inner(b, hcl.BlockHeaderSchema{Type: "data", LabelNames: []string{"type", "name"}}) {
			r.addResource(m, data, false)
		}
	case "import":
		if override {
			return
		}
		if u, ok := r.imported(b); ok {
			m.imports = append(m.imports, u)
		}
	}
}

func (r *reader) addRequired(m *module, terraform *hcl.Block, override bool) {
	for _, b := range r.inner(terraform, hcl.BlockHeaderSchema{Type: "required_providers"}) {
		at := stricthcl.PositionOf(b.DefRange)
		if !override && m.requiredAt != (stricthcl.Position{}) {
			r.add(at, "a module can have only one required_providers block; the first is at %s", m.requiredAt)
			continue
		}
		if !override {
			m.requiredAt = at
		}
		maps.Copy(m.required, r.requirements(b))
	}
}

func (r *reader) addResource(m *module, b *hcl.Block, override bool) {
	key := b.Type + "." + strings.Join(b.Labels, ".")
	if !override {
		m.resources[key] = r.resource(b)
	} else if _, exists := m.resources[key]; exists {
		if name, ok := r.providerArgument(b); ok {
			m.resources[key] = use{name, stricthcl.PositionOf(b.DefRange)}
		}
	}
}

// inner returns a block's nested blocks of one kind.
func (r *reader) inner(b *hcl.Block, header hcl.BlockHeaderSchema) hcl.Blocks {
	content, ok := r.arguments(b, &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{header}})
	if !ok {
		return nil
	}
	return content.Blocks
}

// provider reads a provider block.
func (r *reader) provider(b *hcl.Block) (key string, p block, ok bool) {
	content, ok := r.arguments(b, attributes("alias", "version"))
	p.use = use{b.Labels[0], stricthcl.PositionOf(b.DefRange)}
	if !ok || !r.localName(p.name, p.at) {
		return "", p, false
	}
	key = p.name
	if attr, given := content.Attributes["alias"]; given {
		alias, ok := r.text(attr.Expr, "alias")
		if !ok {
			return "", p, false
		}
		key += "." + alias
	}
	if attr, given := content.Attributes["version"]; given && !isNull(attr.Expr) {
		text, ok := primitive(attr.Expr)
		if !ok {
			r.add(stricthcl.PositionOf(attr.Expr.Range()), "the version must be a quoted string, not an expression")
			return "", p, false
		}
		p.at = stricthcl.PositionOf(attr.NameRange)
		p.constraint = r.constraint(text, stricthcl.PositionOf(attr.Expr.Range()))
	}
	return key, p, true
}

// resource returns the local name of the provider that a resource or data source uses.
func (r *reader) resource(b *hcl.Block) use {
	u := use{at: stricthcl.PositionOf(b.DefRange)}
	if name, ok := r.providerArgument(b); ok {
		u.name = name
		return u
	}
	name, err := tfaddr.ParseProviderPart(impliedName(b.Labels[0]))
	if err != nil {
		r.add(stricthcl.PositionOf(b.LabelRanges[0]), "%q does not start with the name of a provider: %w", b.Labels[0], err)
	}
	u.name = name
	return u
}

// providerArgument returns the local name in a block's provider argument.
func (r *reader) providerArgument(b *hcl.Block) (name string, ok bool) {
	content, ok := r.arguments(b, attributes("provider"))
	if !ok {
		return "", false
	}
	attr, given := content.Attributes["provider"]
	if !given {
		return "", false
	}
	at := stricthcl.PositionOf(attr.Expr.Range())
	names := reference(attr.Expr)
	if len(names) == 0 || len(names) > 2 {
		r.add(at, "the provider argument must be a provider name with an optional alias, such as aws.west")
		return "", false
	}
	return names[0], r.localName(names[0], at)
}

// imported returns the local name of the provider that an import block uses.
func (r *reader) imported(b *hcl.Block) (use, bool) {
	u := use{at: stricthcl.PositionOf(b.DefRange)}
	content, ok := r.arguments(b, attributes("to"))
	if !ok {
		return u, false
	}
	attr, given := content.Attributes["to"]
	if !given {
		r.add(u.at, "the import block has no argument \"to\"")
		return u, false
	}
	resource, ok := importedType(reference(attr.Expr))
	if !ok {
		r.add(stricthcl.PositionOf(attr.Expr.Range()), "invalid resource address")
		return u, false
	}
	if name, ok := r.providerArgument(b); ok {
		u.name = name
		return u, true
	}
	name, err := tfaddr.ParseProviderPart(impliedName(resource))
	u.name = name
	return u, err == nil
}
