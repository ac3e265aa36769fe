package configuration

import (
	"context"
	"errors"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	hcljson "github.com/hashicorp/hcl/v2/json"

	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
)

// topLevel lists the kinds of blocks that concern providers.
var topLevel = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
	{Type: "terraform"},
	{Type: "required_providers"},
	{Type: "provider", LabelNames: []string{"name"}},
	{Type: "module", LabelNames: []string{"name"}},
	{Type: "resource", LabelNames: []string{"type", "name"}},
	{Type: "data", LabelNames: []string{"type", "name"}},
	{Type: "ephemeral", LabelNames: []string{"type", "name"}},
	{Type: "check", LabelNames: []string{"name"}},
	{Type: "import"},
	{Type: "locals"},
	{Type: "variable", LabelNames: []string{"name"}},
}}

// body reads and parses a file. It adds errors to the problems.
func (r *reader) body(ctx context.Context, path string) (hcl.Body, bool) {
	data, ok := r.read(ctx, path)
	if !ok {
		return nil, false
	}
	path = r.shown(path)
	check, parse := r.parsing.Check, parseNative
	if r.options.skipPlain && isPlain(data) {
		return hcl.EmptyBody(), true
	}
	if strings.HasSuffix(path, ".json") {
		check, parse = r.parsing.CheckJSON, hcljson.Parse
	}
	if err, ok := errors.AsType[*stricthcl.Error](check(path, data)); ok {
		r.all = append(r.all, err)
		return nil, false
	}
	file, found := parse(data, path)
	if r.diagnostics(path, found) || file == nil || file.Body == nil {
		return nil, false
	}
	return file.Body, true
}

func parseNative(data []byte, path string) (*hcl.File, hcl.Diagnostics) {
	return hclsyntax.ParseConfig(data, path, hcl.InitialPos)
}

// arguments reads the arguments and blocks that a schema lists and ignores all others.
func (p *problems) arguments(block *hcl.Block, schema *hcl.BodySchema) (content *hcl.BodyContent, ok bool) {
	content, _, found := block.Body.PartialContent(schema)
	return content, !p.diagnostics(block.DefRange.Filename, found)
}

// attributes returns a schema for arguments with the given names.
func attributes(names ...string) *hcl.BodySchema {
	s := &hcl.BodySchema{}
	for _, name := range names {
		s.Attributes = append(s.Attributes, hcl.AttributeSchema{Name: name})
	}
	return s
}
