package access

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"regexp"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Options are the options of rules.
type Options struct {
	// HTTP requests the keys of issuers; required for rules with oidc blocks. It should limit
	// how long a connection may be silent. Documents and whole requests are limited here.
	HTTP *http.Client
	// Reloaded is called when the file was read again: with nil if new rules are in force,
	// and otherwise with the reason why the old ones still are. It may be nil, and is called
	// concurrently with requests.
	Reloaded func(error)
}

// parse reads the text of a file of rules in HCL 2's native syntax. Unknown and
// duplicate settings are errors, and so is a file without blocks, because a writer may
// have truncated it. file is the file's name in errors, which are *[stricthcl.Error].
func parse(file string, data []byte, keys *keyCache) (*Rules, error) {
	r := &reader{rules: Rules{keys: keys}, lines: map[string]int{}}
	if err := r.read(file, data); err != nil {
		return nil, err
	}
	return &r.rules, nil
}

// reader makes rules of blocks.
type reader struct {
	rules Rules
	// lines say where something stands that may be there only once.
	lines map[string]int
}

func (r *reader) read(file string, data []byte) error {
	body, err := stricthcl.Parse(file, data)
	if err != nil {
		return err
	}
	for _, a := range stricthcl.Attributes(body) {
		return stricthcl.Wrong(a.NameRange, "there is no argument %q here, only blocks: anonymous, token, oidc and host", a.Name)
	}
	if len(body.Blocks) == 0 {
		return stricthcl.Wrong(hcl.Range{Filename: file, Start: hcl.InitialPos},
			`the file has no blocks; to let everyone read everything, write anonymous { allow = ["*/*/*"] }`)
	}
	blocks := map[string]func(*hclsyntax.Block) error{"anonymous": r.anonymous, "token": r.token, "oidc": r.oidc, "host": r.host}
	for _, block := range body.Blocks {
		read, known := blocks[block.Type]
		if !known {
			return stricthcl.Wrong(block.TypeRange, "there are no %q blocks, only anonymous, token, oidc and host", block.Type)
		}
		if err := read(block); err != nil {
			return err
		}
	}
	return nil
}

// once refuses what is there a second time.
func (r *reader) once(what string, at hcl.Range) error {
	if line, twice := r.lines[what]; twice {
		return stricthcl.Wrong(at, "%s is in line %d already", what, line)
	}
	r.lines[what] = at.Start.Line
	return nil
}

func (r *reader) anonymous(block *hclsyntax.Block) error {
	if len(block.Labels) > 0 {
		return stricthcl.Wrong(block.LabelRanges[0], "an anonymous block has no label")
	}
	if err := r.once("an anonymous block", block.TypeRange); err != nil {
		return err
	}
	return r.arguments(block, required("allow", patternsInto(&r.rules.anonymous)))
}

func (r *reader) token(block *hclsyntax.Block) (err error) {
	var t staticToken
	if t.name, err = r.name(block); err != nil {
		return err
	}
	err = r.arguments(block, required("sha256", textInto(&t.hash, parseHash)), required("allow", patternsInto(&t.may)))
	if err != nil {
		return err
	}
	r.rules.tokens = append(r.rules.tokens, t)
	return r.once("the sha256 "+hex.EncodeToString(t.hash[:]), block.Body.Attributes["sha256"].Expr.Range())
}

// parseHash reads the hash of a token. Its errors don't contain the text, which may be the
// token itself.
func parseHash(text string) (hash [sha256.Size]byte, err error) {
	n, err := hex.Decode(hash[:], []byte(text[:min(len(text), 2*len(hash))]))
	switch {
	case err != nil || n != len(hash) || len(text) != 2*n:
		return hash, errors.New("must be the token's SHA-256 in 64 hexadecimal digits, never the token")
	case slices.Contains(emptyHashes, hex.EncodeToString(hash[:])):
		return hash, errors.New("is the SHA-256 of an empty text")
	}
	return hash, nil
}

// emptyHashes are those of nothing and of an empty line: what a script has for a token
// that it did not find.
var emptyHashes = []string{
	"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
	"01ba4719c80b6fe911b091a7c05124b64eeece964e09c058ef8f9805daca546b",
}

var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$`)

// name returns the label of a token or oidc block, which is the name of its callers.
func (r *reader) name(block *hclsyntax.Block) (string, error) {
	if len(block.Labels) != 1 {
		return "", stricthcl.Wrong(block.TypeRange, "a block of this kind has one label, a name: %s \"NAME\" { … }", block.Type)
	}
	name := block.Labels[0]
	if !nameForm.MatchString(name) {
		return "", stricthcl.Wrong(block.LabelRanges[0], "a name has up to 32 letters, digits, dots, dashes and underscores")
	}
	return name, r.once("the name "+name, block.LabelRanges[0])
}

// argument is one of a block.
type argument struct {
	stricthcl.Argument
	optional bool
}

func required(name string, read func(*hclsyntax.Attribute) error) argument {
	return argument{Argument: stricthcl.Argument{Name: name, Read: read}}
}

// arguments reads those of a block, which has to have what is required.
func (r *reader) arguments(block *hclsyntax.Block, known ...argument) error {
	var all []stricthcl.Argument
	for _, k := range known {
		all = append(all, k.Argument)
	}
	if err := stricthcl.Arguments(block.Body, all...); err != nil {
		return err
	}
	for _, k := range known {
		if _, there := block.Body.Attributes[k.Name]; !there && !k.optional {
			return stricthcl.Wrong(block.TypeRange, "the block has no %s", k.Name)
		}
	}
	for _, inner := range block.Body.Blocks {
		if block.Type != "oidc" {
			return stricthcl.Wrong(inner.TypeRange, "a block of this kind has no blocks in it")
		}
	}
	return nil
}

// patternsInto reads a list of patterns.
func patternsInto(into *[]provider.Pattern) func(*hclsyntax.Attribute) error {
	return func(a *hclsyntax.Attribute) error {
		return stricthcl.Strings(a, "a pattern", func(text string, at hcl.Range) error {
			pattern, err := provider.ParsePattern(text)
			if err != nil {
				return stricthcl.Wrong(at, "%v", err)
			}
			if slices.Contains(*into, pattern) {
				return stricthcl.Wrong(at, "the pattern %s is there twice", pattern)
			}
			*into = append(*into, pattern)
			return nil
		})
	}
}

// textInto reads a string.
func textInto[T any](into *T, parse func(string) (T, error)) func(*hclsyntax.Attribute) error {
	return func(a *hclsyntax.Attribute) error {
		text, err := stricthcl.String(a)
		if err != nil {
			return err
		}
		if *into, err = parse(text); err != nil {
			return stricthcl.Wrong(a.Expr.Range(), "%s: %v", a.Name, err)
		}
		return nil
	}
}
