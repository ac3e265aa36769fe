// Package cliconfig is OpenTofu's CLI configuration as data. So far it holds
// what is needed to find origin registries: the host blocks.
//
// https://opentofu.org/docs/cli/config/config-file/
package cliconfig

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/hashicorp/hcl"
	"github.com/hashicorp/hcl/hcl/ast"
	"github.com/hashicorp/hcl/hcl/parser"
	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// maxFile bounds a configuration file, in bytes.
const maxFile = 4 << 20

// Config is a CLI configuration. The zero value is an empty one.
type Config struct {
	// Services has, for each host with a host block, the services that the block
	// gives instead of what discovery would find: "providers.v1" → URL.
	Services map[svchost.Hostname]map[string]string
}

// SyntaxError says what is wrong with a file, and where.
type SyntaxError struct {
	File         string
	Line, Column int
	Problem      string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Problem)
}

// Load reads a file in native or JSON syntax. Errors are those of the file
// system and *[SyntaxError].
func Load(path string) (Config, error) {
	f, err := os.Open(path) //nolint:gosec // the user names the file
	if err != nil {
		return Config{}, fmt.Errorf("reading the CLI configuration: %w", err)
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return Config{}, fmt.Errorf("reading the CLI configuration: %w", err)
	}
	if len(data) > maxFile {
		return Config{}, fmt.Errorf("reading the CLI configuration: %s is larger than %d bytes", path, maxFile)
	}
	return Parse(path, data)
}

// Parse reads a configuration; file is its name for error texts.
func Parse(file string, data []byte) (Config, error) {
	root, err := hcl.ParseBytes(data)
	if err != nil {
		if at, ok := errors.AsType[*parser.PosError](err); ok {
			return Config{}, &SyntaxError{file, at.Pos.Line, at.Pos.Column, at.Err.Error()}
		}
		return Config{}, &SyntaxError{file, 1, 1, err.Error()}
	}
	config := Config{Services: map[svchost.Hostname]map[string]string{}}
	list, ok := root.Node.(*ast.ObjectList)
	if !ok {
		return Config{}, &SyntaxError{file, 1, 1, "the file must contain blocks"}
	}
	for _, block := range list.Filter("host").Items {
		if err := config.addHost(file, block); err != nil {
			return Config{}, err
		}
	}
	return config, nil
}

// addHost reads: host "NAME" { services = { "providers.v1" = "URL" } }.
func (c *Config) addHost(file string, block *ast.ObjectItem) error {
	fail := func(problem string) error {
		return &SyntaxError{file, block.Pos().Line, block.Pos().Column, problem}
	}
	if len(block.Keys) != 1 {
		return fail(`a host block must have one label, the host: host "registry.example.com" { … }`)
	}
	label, _ := block.Keys[0].Token.Value().(string)
	host, err := provider.ParseHost(label)
	if err != nil {
		return fail(fmt.Sprintf("%q is not a host name: %v", label, err))
	}
	if _, twice := c.Services[host]; twice {
		return fail(fmt.Sprintf("a second host block for %s", host.ForDisplay()))
	}
	var body struct {
		Services map[string]any `hcl:"services"`
	}
	if err := hcl.DecodeObject(&body, block.Val); err != nil {
		return fail(fmt.Sprintf("the host block of %s: %v", host.ForDisplay(), err))
	}
	c.Services[host] = map[string]string{}
	for name, value := range body.Services {
		// Other services, such as login.v1, are objects; they are not ours.
		if text, ok := value.(string); ok {
			c.Services[host][name] = text
		}
	}
	return nil
}
