package configuration

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/stricthcl"

	"github.com/hashicorp/hcl/v2"
)

// testDir is where test files lie beside those of the directory itself.
const testDir = "tests"

// test is what a test file says.
type test struct {
	// key is how the list of installed modules names its runs.
	key       string
	providers map[string]block
	// runs are those that call a module.
	runs map[string]call
}

// testBlocks are the blocks of a test file that concern providers.
var testBlocks = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
	{Type: "provider", LabelNames: []string{"name"}},
	{Type: "run", LabelNames: []string{"name"}},
}}

// tests reads the test files of the root module: init installs for them too.
func (r *reader) tests(ctx context.Context, dir string, found []string) []test {
	var all []test
	for _, name := range found {
		all = append(all, r.test(ctx, dir, name))
	}
	below, err := list(filepath.Join(dir, testDir), r.options.Terraform)
	if err != nil && !os.IsNotExist(err) {
		r.add(stricthcl.Position{File: filepath.Join(dir, testDir)}, "reading it: %w", bare(err))
	}
	for _, name := range below.tests {
		all = append(all, r.test(ctx, dir, path.Join(testDir, name)))
	}
	return all
}

func (r *reader) test(ctx context.Context, dir, name string) test {
	t := test{key: testKey(name), providers: map[string]block{}, runs: map[string]call{}}
	for _, b := range r.blocks(ctx, filepath.Join(dir, name), testBlocks) {
		if b.Type == "provider" {
			if key, p, ok := r.provider(b); ok {
				t.providers[key] = p
			}
			continue
		}
		for _, module := range r.inner(b, hcl.BlockHeaderSchema{Type: "module"}) {
			module.Labels, module.LabelRanges = b.Labels, b.LabelRanges
			if c, ok := r.call(module, false); ok {
				t.runs[b.Labels[0]] = c
			}
		}
	}
	return t
}

// testKey is the path of a test file's runs: "tests/a.tftest.hcl" has
// "test.tests.a.RUN".
func testKey(name string) string {
	return "test." + strings.ReplaceAll(strings.TrimSuffix(name, ".tftest.hcl"), "/", ".")
}
