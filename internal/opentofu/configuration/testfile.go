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

// testDir is the directory for additional test files.
const testDir = "tests"

// test contains the settings of a test file.
type test struct {
	// key is the prefix of the test's runs in modules.json.
	key       string
	providers map[string]block
	// runs maps names of runs to the modules that they call.
	runs map[string]call
}

// testBlocks lists the kinds of blocks in a test file that concern providers.
var testBlocks = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
	{Type: "provider", LabelNames: []string{"name"}},
	{Type: "run", LabelNames: []string{"name"}},
}}

// tests reads the root module's test files, because init also installs modules for
// tests.
func (r *reader) tests(ctx context.Context, dir string, found []string) []test {
	var all []test
	for _, name := range found {
		all = append(all, r.test(ctx, dir, name))
	}
	below, err := list(filepath.Join(dir, testDir), r.options.Terraform)
	if err != nil && !os.IsNotExist(err) {
		r.add(stricthcl.Position{File: filepath.Join(dir, testDir)}, "reading the directory: %w", bare(err))
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

// testKey returns the prefix for the runs of a test file. For "tests/a.tftest.hcl", it
// returns "test.tests.a".
func testKey(name string) string {
	return "test." + strings.ReplaceAll(strings.TrimSuffix(name, ".tftest.hcl"), "/", ".")
}
