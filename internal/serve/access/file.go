package access

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// Options configures [Open].
type Options struct {
	// HTTP requests the keys of issuers. It is required for rules with oidc blocks, and
	// should limit idle connections. This package limits the size of documents and the
	// duration of requests.
	HTTP *http.Client
	// Reloaded, if not nil, is called after the file has been read again. The argument
	// is nil if the new rules are in force. Otherwise, it explains why the old rules
	// are still in force. Reloaded is called concurrently with requests.
	Reloaded func(error)
}

// file is a rules file.
type file struct {
	Anonymous []anonymousBlock `hcl:"anonymous,block"`
	Tokens    []tokenBlock     `hcl:"token,block"`
	Issuers   []issuerBlock    `hcl:"oidc,block"`
	Hosts     []hostBlock      `hcl:"host,block"`
	Limits    []limitsBlock    `hcl:"limits,block"`
	Servers   []serverBlock    `hcl:"server,block"`
}

type anonymousBlock struct {
	Range   hcl.Range      `hcl:",type_range"`
	Allow   hcl.Expression `hcl:"allow"`
	Modules hcl.Expression `hcl:"modules"`
}

type tokenBlock struct {
	Name      string         `hcl:"name,label"`
	NameRange hcl.Range      `hcl:"name,label_range"`
	SHA256    hcl.Expression `hcl:"sha256"`
	Allow     hcl.Expression `hcl:"allow"`
	Modules   hcl.Expression `hcl:"modules"`
}

type issuerBlock struct {
	Range     hcl.Range      `hcl:",type_range"`
	Name      string         `hcl:"name,label"`
	NameRange hcl.Range      `hcl:"name,label_range"`
	Issuer    hcl.Expression `hcl:"issuer"`
	Audience  hcl.Expression `hcl:"audience"`
	Allow     []allowBlock   `hcl:"allow,block"`
}

type allowBlock struct {
	Claims    hcl.Expression `hcl:"claims"`
	Providers hcl.Expression `hcl:"providers"`
	Modules   hcl.Expression `hcl:"modules"`
}

type hostBlock struct {
	Name       string         `hcl:"name,label"`
	NameRange  hcl.Range      `hcl:"name,label_range"`
	Repository hcl.Expression `hcl:"repository"`
	Modules    hcl.Expression `hcl:"modules"`
	As         hcl.Expression `hcl:"as"`
}

// parse parses a rules file in HCL 2's native syntax. Unknown and duplicate settings
// are errors. A file without rules is also an error, because the file might have been
// truncated. Errors contain the file name and wrap a *[stricthcl.Error] for each problem.
func parse(name string, data []byte, keys *keyCache) (*Rules, error) {
	var f file
	if err := stricthcl.Decode(name, data, &f); err != nil {
		return nil, err // required arguments can be nil
	}
	if len(f.Anonymous)+len(f.Tokens)+len(f.Issuers)+len(f.Hosts) == 0 {
		return nil, stricthcl.Errorf(hcl.Range{Filename: name, Start: hcl.InitialPos},
			"the file has no access rules; to let everyone read everything, write an anonymous block with allow = [\"*/*/*\"] and modules = [\"*/*/*/*\"]")
	}
	r := &reader{rules: Rules{keys: keys}, dir: filepath.Dir(name), lines: map[string]int{}}
	if err := r.read(f); err != nil {
		return nil, err
	}
	return &r.rules, nil
}

// reader converts blocks to rules.
type reader struct {
	rules Rules
	// dir is the directory of the file.
	dir string
	// lines contains the line number of each setting that must be unique.
	lines map[string]int
}

// read converts all blocks and returns all errors.
func (r *reader) read(f file) error {
	var errs []error
	for _, b := range f.Anonymous {
		granted, err := readGrant("allow", b.Allow, b.Modules)
		r.rules.anonymous = granted
		errs = append(errs, r.once("an anonymous block", b.Range), err)
	}
	for _, b := range f.Tokens {
		errs = append(errs, r.token(b))
	}
	for _, b := range f.Issuers {
		errs = append(errs, r.issuer(b))
	}
	for _, b := range f.Hosts {
		errs = append(errs, r.host(b))
	}
	for _, b := range f.Limits {
		var err error
		r.rules.Limits, err = b.read()
		errs = append(errs, r.once("a limits block", b.Range), err)
	}
	for _, b := range f.Servers {
		var err error
		r.rules.Settings, err = b.read(r.dir)
		errs = append(errs, r.once("a server block", b.Range), err)
	}
	return stricthcl.Join(errs...)
}

// once returns an error if a setting is repeated.
func (r *reader) once(setting string, pos hcl.Range) error {
	if line, exists := r.lines[setting]; exists {
		return stricthcl.Errorf(pos, "%s already exists on line %d", setting, line)
	}
	r.lines[setting] = pos.Start.Line
	return nil
}

func (r *reader) token(b tokenBlock) (err error) {
	t := staticToken{name: b.Name}
	if err := r.name(b.Name, b.NameRange); err != nil {
		return err
	}
	if t.hash, err = value("sha256", b.SHA256, parseHash); err != nil {
		return err
	}
	if t.grant, err = readGrant("allow", b.Allow, b.Modules); err != nil {
		return err
	}
	r.rules.tokens = append(r.rules.tokens, t)
	return r.once("sha256 "+hex.EncodeToString(t.hash[:]), b.SHA256.Range())
}

// parseHash parses a token's hash. Its errors don't contain the text, because users
// might enter the token itself.
func parseHash(text string) (hash [sha256.Size]byte, err error) {
	n, err := hex.Decode(hash[:], []byte(text[:min(len(text), 2*len(hash))]))
	switch {
	case err != nil || n != len(hash) || len(text) != 2*n:
		return hash, errors.New("must be the SHA-256 of the token in 64 hexadecimal digits, not the token itself")
	case slices.Contains(emptyHashes, hex.EncodeToString(hash[:])):
		return hash, errors.New("is the SHA-256 of an empty token")
	}
	return hash, nil
}

// emptyHashes contains the hashes of an empty string and of an empty line. A script
// produces these hashes if the token is missing.
var emptyHashes = []string{
	"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
	"01ba4719c80b6fe911b091a7c05124b64eeece964e09c058ef8f9805daca546b",
}

var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$`)

// name returns an error if the label of a token or oidc block is invalid or repeated.
// The label becomes the name of the block's callers.
func (r *reader) name(name string, pos hcl.Range) error {
	if !nameForm.MatchString(name) {
		return stricthcl.Errorf(pos, "invalid name %q: want up to 32 letters, digits, dots, dashes, and underscores", name)
	}
	return r.once("the name "+name, pos)
}

func (r *reader) issuer(b issuerBlock) (err error) {
	i := issuer{name: b.Name}
	if err := r.name(b.Name, b.NameRange); err != nil {
		return err
	}
	if i.url, err = value("issuer", b.Issuer, parseIssuer); err != nil {
		return err
	}
	i.audience, err = value("audience", b.Audience, func(text string) (string, error) {
		if text == "" {
			return "", errors.New("must not be empty")
		}
		return text, nil
	})
	if err != nil {
		return err
	}
	if err := r.once("the issuer "+i.url, b.Issuer.Range()); err != nil {
		return err
	}
	for _, inner := range b.Allow {
		var a allow
		if a.claims, err = claims(inner.Claims); err != nil {
			return err
		}
		if a.grant, err = readGrant("providers", inner.Providers, inner.Modules); err != nil {
			return err
		}
		if err := checkPublic(i.url, a); err != nil {
			return stricthcl.Errorf(inner.Claims.Range(), "%v", err)
		}
		i.allow = append(i.allow, a)
	}
	if len(i.allow) == 0 {
		return stricthcl.Errorf(b.Range, "the oidc block has no allow block, so it would reject every token")
	}
	r.rules.issuers = append(r.rules.issuers, i)
	return nil
}

func (r *reader) host(b hostBlock) (err error) {
	var h Host
	if h.Name, err = provider.ParseHost(b.Name); err != nil {
		return stricthcl.Errorf(b.NameRange, "%v", err)
	}
	if err := r.once("the host "+h.Name.ForDisplay(), b.NameRange); err != nil {
		return err
	}
	if h.Repository, err = value("repository", b.Repository, template.Parse); err != nil {
		return err
	}
	if err := optional("modules", b.Modules, &h.Modules, template.ParseModule); err != nil {
		return err
	}
	h.As = h.Name
	err = optional("as", b.As, &h.As, provider.ParseHost)
	r.rules.Hosts = append(r.rules.Hosts, h)
	return err
}

// value parses the string in an argument.
func value[T any](name string, expr hcl.Expression, parse func(string) (T, error)) (none T, err error) {
	text, err := stricthcl.String(name, expr)
	if err != nil {
		return none, err
	}
	v, err := parse(text)
	if err != nil {
		return none, stricthcl.Errorf(expr.Range(), "%s: %v", name, err)
	}
	return v, nil
}

// isSet reports whether an optional argument is set.
func isSet(expr hcl.Expression) bool {
	value, diags := expr.Value(nil)
	return diags.HasErrors() || !value.IsNull()
}

// readGrant parses the lists of a block. The list of providers can be omitted only if
// the block contains a list of modules.
func readGrant(name string, providers, modules hcl.Expression) (g grant, err error) {
	if isSet(providers) || !isSet(modules) {
		g.providers, err = list(name, providers, provider.ParsePattern)
	}
	if err == nil && isSet(modules) {
		g.modules, err = list("modules", modules, provider.ParseModulePattern)
	}
	return g, err
}

// list parses a list of strings, which must be different.
func list[T comparable](name string, expr hcl.Expression, parse func(string) (T, error)) (all []T, err error) {
	err = stricthcl.Strings(name, expr, func(text string, pos hcl.Range) error {
		v, err := parse(text)
		if err != nil {
			return stricthcl.Errorf(pos, "%v", err)
		}
		if slices.Contains(all, v) {
			return stricthcl.Errorf(pos, "duplicate %v", v)
		}
		all = append(all, v)
		return nil
	})
	return all, err
}

// claims parses an object whose values are strings or lists of strings.
func claims(expr hcl.Expression) (all []claim, err error) {
	pairs, diags := hcl.ExprMap(expr)
	if diags.HasErrors() || len(pairs) == 0 {
		return nil, stricthcl.Errorf(expr.Range(), "invalid claims: want { NAME = \"VALUE\", … } with at least one claim")
	}
	for _, pair := range pairs {
		var c claim
		if c.name, err = stricthcl.String("the name of a claim", pair.Key); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(all, func(other claim) bool { return other.name == c.name }) {
			return nil, stricthcl.Errorf(pair.Key.Range(), "duplicate claim %s", c.name)
		}
		if _, notList := hcl.ExprList(pair.Value); notList.HasErrors() {
			var text string
			if text, err = stricthcl.String(c.name, pair.Value); err == nil {
				err = c.add(text, pair.Value.Range())
			}
		} else {
			err = stricthcl.Strings(c.name, pair.Value, c.add)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// add adds an accepted value.
func (c *claim) add(text string, pos hcl.Range) error {
	if err := checkValue(text); err != nil {
		return stricthcl.Errorf(pos, "%v", err)
	}
	c.values = append(c.values, text)
	return nil
}
