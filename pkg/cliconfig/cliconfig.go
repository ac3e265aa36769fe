// Package cliconfig is OpenTofu's CLI configuration as data. So far it holds
// what is needed to find origin registries: the host blocks.
//
// https://opentofu.org/docs/cli/config/config-file/
package cliconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/hashicorp/hcl"
	"github.com/hashicorp/hcl/hcl/ast"
	"github.com/hashicorp/hcl/hcl/parser"
	"github.com/hashicorp/hcl/hcl/token"
	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// maxFile bounds a configuration file, in bytes. Real ones have hundreds; some
// megabytes of brackets would exhaust the stack of the parser.
const maxFile = 256 << 10

// Config is a CLI configuration. The zero value is an empty one.
type Config struct {
	// Services has, for each host with a host block, the services that the block
	// gives instead of what discovery would find: "providers.v1" → URL.
	Services map[svchost.Hostname]map[string]string
}

// SyntaxError says what is wrong with a file, and where.
type SyntaxError struct {
	File string
	// Line and Column count from 1. They are 0 where the parser does not tell,
	// as it does for what a JSON file means.
	Line, Column int
	Problem      string
}

func (e *SyntaxError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Problem)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Problem)
}

// Load reads a file in native or JSON syntax. Errors are those of the file
// system and *[SyntaxError].
func Load(path string) (Config, error) {
	f, err := os.Open(path)
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
func Parse(file string, data []byte) (config Config, err error) {
	// HCL 1 panics at some texts, such as keys with surrogates in \u escapes.
	defer func() {
		if r := recover(); r != nil {
			config, err = Config{}, &SyntaxError{File: file, Problem: fmt.Sprintf("the parser breaks down: %v", r)}
		}
	}()
	isJSON := bytes.HasPrefix(bytes.TrimSpace(data), []byte("{"))
	if isJSON {
		// HCL 1 takes some of what is no JSON for an empty file.
		if err := checkJSON(file, data); err != nil {
			return Config{}, err
		}
	}
	root, err := hcl.ParseBytes(data)
	if err != nil {
		if at, ok := errors.AsType[*parser.PosError](err); ok {
			return Config{}, &SyntaxError{file, at.Pos.Line, at.Pos.Column, at.Err.Error()}
		}
		return Config{}, withoutPosition(file, err.Error())
	}
	config.Services = map[svchost.Hostname]map[string]string{}
	list, ok := root.Node.(*ast.ObjectList)
	if !ok {
		return Config{}, &SyntaxError{file, 1, 1, "the file must contain blocks"}
	}
	var at map[string]token.Pos
	if !isJSON {
		if at, err = locateHosts(file, list.Filter("host").Items); err != nil {
			return Config{}, err
		}
	}
	var body struct {
		Hosts map[string]hostBlock `hcl:"host"`
	}
	if err := hcl.DecodeObject(&body, root); err != nil {
		return Config{}, withoutPosition(file, strings.TrimPrefix(strings.TrimPrefix(err.Error(), "At "), "-: "))
	}
	for _, label := range slices.Sorted(maps.Keys(body.Hosts)) {
		if problem := config.addHost(label, body.Hosts[label]); problem != "" {
			return Config{}, &SyntaxError{file, at[label].Line, at[label].Column, problem}
		}
	}
	return config, nil
}

// locateHosts tells where the host blocks stand, and finds what the decoder
// would let pass. Only native syntax has positions, and blocks in one piece.
func locateHosts(file string, blocks []*ast.ObjectItem) (map[string]token.Pos, error) {
	at := map[string]token.Pos{}
	for _, block := range blocks {
		pos := block.Val.Pos()
		if len(block.Keys) > 0 {
			pos = block.Pos()
		}
		if len(block.Keys) != 1 {
			return nil, &SyntaxError{file, pos.Line, pos.Column, `a host block must have one label, the host: host "registry.example.com" { … }`}
		}
		label, _ := block.Keys[0].Token.Value().(string)
		if _, twice := at[label]; twice {
			return nil, &SyntaxError{file, pos.Line, pos.Column, fmt.Sprintf("a second host block for %s", label)}
		}
		at[label] = pos
	}
	return at, nil
}

// checkJSON finds what is no JSON, and where.
func checkJSON(file string, data []byte) error {
	var document any
	err := json.Unmarshal(data, &document)
	if err == nil {
		return nil
	}
	e := &SyntaxError{File: file, Problem: err.Error()}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		// Offset counts the byte at fault too.
		before := data[:max(syntax.Offset-1, 0)]
		e.Line = bytes.Count(before, []byte("\n")) + 1
		e.Column = len(before) - (bytes.LastIndexByte(before, '\n') + 1) + 1
	}
	return e
}

// withoutPosition reads an error of the decoder, which has the position in its
// text if at all.
func withoutPosition(file, problem string) *SyntaxError {
	e := &SyntaxError{File: file, Problem: problem}
	position, rest, found := strings.Cut(problem, ": ")
	if _, err := fmt.Sscanf(position, "%d:%d", &e.Line, &e.Column); found && err == nil {
		e.Problem = rest
		return e
	}
	return &SyntaxError{File: file, Problem: problem}
}

// hostBlock is: host "NAME" { services = { "providers.v1" = "URL" } }.
type hostBlock struct {
	Services map[string]any `hcl:"services"`
}

func (c *Config) addHost(label string, block hostBlock) (problem string) {
	host, err := provider.ParseHost(label)
	if err != nil {
		return fmt.Sprintf("%q is not a host name: %v", label, err)
	}
	if _, twice := c.Services[host]; twice {
		return fmt.Sprintf("a second host block for %s", host.ForDisplay())
	}
	c.Services[host] = map[string]string{}
	for name, value := range block.Services {
		// Other services, such as login.v1, are objects; they are not ours.
		if text, ok := value.(string); ok {
			c.Services[host][name] = text
		}
	}
	return ""
}
