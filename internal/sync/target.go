package sync

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// envPrefix is the prefix of the variables that a declaration can read. If every
// variable were allowed, a pull request could send a secret to another host as part of
// a host name.
const envPrefix = "TOFU_OCI_SYNC_"

// targetName matches valid names of targets.
var targetName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// samples contains the addresses that are used to check target templates, by argument.
var samples = []struct {
	argument string
	address  provider.Address
}{
	{"repository", provider.Address{Host: provider.DefaultHost, Namespace: "hashicorp", Type: "null"}},
	{"modules", provider.Address{Host: provider.DefaultHost, Namespace: "hashicorp", Type: "consul/aws"}},
}

// targets reads target blocks.
type targets struct {
	dir       string
	functions *hcl.EvalContext
	blocks    map[string]labeled
	byName    map[string]Target
	// repositories maps each repository to the name of its target.
	repositories map[template.Reference]string
	names        []string
}

// readTargets reads the target blocks. Each target comes after the target that it
// copies from.
func (d *Declaration) readTargets(blocks []labeled, env func(string) (string, bool)) error {
	switch n := len(blocks); {
	case n == 0:
		return stricthcl.Errorf(d.start(), "missing target block: at least one is required")
	case n > maxTargets:
		return stricthcl.Errorf(blocks[maxTargets].Range, "more than %d targets", maxTargets)
	}
	r := targets{
		dir: filepath.Dir(d.Path), functions: functions(env),
		blocks: map[string]labeled{}, byName: map[string]Target{}, repositories: map[template.Reference]string{},
	}
	var errs []error
	for _, b := range blocks {
		errs = append(errs, r.read(b))
	}
	for _, name := range r.names {
		chain, err := r.chain(name)
		if err != nil {
			t := r.byName[name] // other blocks can name this target
			t.From = ""
			chain = []Target{t}
		}
		if err != nil && !slices.ContainsFunc(errs, func(other error) bool { return other != nil && other.Error() == err.Error() }) {
			errs = append(errs, err) // a wrong target can be part of several chains
		}
		for _, t := range chain {
			if !slices.Contains(d.Targets, t) {
				d.Targets = append(d.Targets, t)
			}
		}
	}
	return stricthcl.Join(errs...)
}

func (r *targets) read(b labeled) error {
	if !targetName.MatchString(b.Label) {
		return stricthcl.Errorf(b.Range, "invalid name %q: must consist of up to 64 letters, digits, dots, dashes, and underscores", b.Label)
	}
	if other, ok := r.blocks[b.Label]; ok {
		return stricthcl.Errorf(b.Range, "duplicate target %q: already used on line %d", b.Label, other.Range.Start.Line)
	}
	t := Target{Name: b.Label}
	err := parseArguments("target", b.Range, b.Arguments, map[string]func(*hcl.Attribute) error{
		"repository": into(&t.Template, func(a *hcl.Attribute) (template.Template, error) { return readTemplate(r, a, template.Parse) }),
		"modules": into(&t.Modules, func(a *hcl.Attribute) (template.ModuleTemplate, error) {
			return readTemplate(r, a, template.ParseModule)
		}),
		"from": func(a *hcl.Attribute) (err error) {
			if t.From, err = r.evaluate(a); err == nil && t.From == "" {
				err = stricthcl.Errorf(a.Expr.Range(), "from must be the name of a target")
			}
			return err
		},
	}, "repository")
	// Other blocks can name this target even if an argument is wrong.
	r.blocks[t.Name], r.byName[t.Name] = b, t
	r.names = append(r.names, t.Name)
	if err != nil {
		return err
	}
	var errs []error
	for _, sample := range samples {
		if !t.takes(sample.address) {
			continue
		}
		at := b.Arguments[sample.argument].Expr.Range()
		ref, err := t.repository(sample.address)
		switch other, taken := r.repositories[ref]; {
		case err != nil:
			errs = append(errs, stricthcl.Errorf(at, "%s: %v", sample.argument, err))
		case taken:
			errs = append(errs, stricthcl.Errorf(at, "targets %q and %q use the same repository", other, t.Name))
		default:
			r.repositories[ref] = t.Name
		}
	}
	return stricthcl.Join(errs...)
}

// chain returns a target, preceded by the targets that it copies from.
func (r *targets) chain(name string) (chain []Target, err error) {
	var names []string
	for t := r.byName[name]; ; t = r.byName[t.From] {
		chain, names = append(chain, t), append(names, t.Name)
		if t.From == "" {
			slices.Reverse(chain)
			return chain, nil
		}
		at := r.blocks[t.Name].Arguments["from"].Expr.Range()
		if r.byName[t.From].Name == "" {
			return nil, unknown(at, fmt.Sprintf("unknown target %q", t.From), t.From, r.names)
		}
		if i := slices.Index(names, t.From); i >= 0 {
			var cycle []string
			for _, of := range chain[i:] {
				cycle = append(cycle, of.Name+" from "+of.From)
			}
			return nil, stricthcl.Errorf(at, "target %q is copied from itself (%s)", t.From, strings.Join(cycle, ", "))
		}
	}
}

// readTemplate reads a repository template. Paths of image layouts are relative to the
// declaration.
func readTemplate[T interface{ IsLayout() bool }](r *targets, a *hcl.Attribute, parse func(string) (T, error)) (t T, err error) {
	s, err := r.evaluate(a)
	if err != nil {
		return t, err
	}
	t, err = parse(s)
	prefix, path, _ := strings.Cut(s, ":")
	if err == nil && t.IsLayout() && !isRooted(path) && r.dir != "." {
		t, err = parse(prefix + ":" + filepath.ToSlash(r.dir) + "/" + path)
	}
	if err != nil {
		return t, stricthcl.Errorf(a.Expr.Range(), "%s: %v", a.Name, err)
	}
	return t, nil
}

// evaluate returns the value of a string that can contain calls to env and join.
func (r *targets) evaluate(a *hcl.Attribute) (string, error) {
	expr, err := nativeExpression(a)
	if err == nil {
		err = checkExpression(expr)
	}
	if err != nil {
		return "", err
	}
	value, diags := expr.Value(r.functions)
	if diags.HasErrors() {
		return "", stricthcl.OfDiagnostic(a.Range.Filename, diags[0])
	}
	if value.Type() != cty.String || !value.IsKnown() || value.IsNull() {
		return "", stricthcl.Errorf(a.Expr.Range(), "%s must be a string", a.Name)
	}
	s := value.AsString()
	if hasTemplate(s) {
		return "", stricthcl.Errorf(a.Expr.Range(), "%s cannot contain ${ or %%{; use {namespace} instead of ${namespace}", a.Name)
	}
	return s, nil
}

// nativeExpression returns an expression in the native syntax. In JSON, a string is a
// template in the native syntax.
func nativeExpression(a *hcl.Attribute) (hclsyntax.Expression, error) {
	if expr, ok := a.Expr.(hclsyntax.Expression); ok {
		return expr, nil
	}
	s, err := stricthcl.String(a.Name, a.Expr)
	if err != nil {
		return nil, err
	}
	at := a.Expr.Range()
	if strings.ContainsFunc(s, unicode.IsControl) {
		return nil, stricthcl.Errorf(at, "%s contains a control character", a.Name)
	}
	// Check the complexity, because the parser is recursive. A heredoc has the syntax
	// of a template without quotes.
	if err := new(stricthcl.Budget).Check(at.Filename, []byte("_ = <<_\n"+s+"\n_\n")); err != nil {
		return nil, stricthcl.Errorf(at, "%s is too complex", a.Name)
	}
	expr, diags := hclsyntax.ParseTemplate([]byte(s), at.Filename, hcl.Pos{Line: at.Start.Line, Column: at.Start.Column + 1, Byte: at.Start.Byte + 1})
	if diags.HasErrors() {
		return nil, stricthcl.OfDiagnostic(at.Filename, diags[0])
	}
	return expr, nil
}

// checkExpression accepts only text, lists, and function calls, because loops could run
// indefinitely.
func checkExpression(expr hclsyntax.Expression) (found error) {
	_ = hclsyntax.VisitAll(expr, func(n hclsyntax.Node) hcl.Diagnostics {
		problem := "invalid expression: must be text, env(NAME), or join(SEPARATOR, LIST)"
		switch n := n.(type) {
		case *hclsyntax.LiteralValueExpr, *hclsyntax.TemplateExpr, *hclsyntax.TemplateWrapExpr, *hclsyntax.FunctionCallExpr, *hclsyntax.TupleConsExpr, *hclsyntax.ParenthesesExpr:
			return nil
		case *hclsyntax.ScopeTraversalExpr:
			problem = "variables are not supported: " + n.Traversal.RootName()
			if name := n.Traversal.RootName(); slices.Contains([]string{"hostname", "namespace", "type", "name", "system"}, name) {
				problem = fmt.Sprintf("use {%s} instead of ${%[1]s} in repository templates", name)
			}
		}
		found = cmp.Or(found, stricthcl.Errorf(n.Range(), "%s", problem))
		return nil
	})
	return found
}

// functions returns the functions that target blocks can call.
func functions(env func(string) (string, bool)) *hcl.EvalContext {
	return &hcl.EvalContext{Functions: map[string]function.Function{
		"join": stdlib.JoinFunc,
		"env": function.New(&function.Spec{
			Params: []function.Parameter{{Name: "name", Type: cty.String}},
			Type:   function.StaticReturnType(cty.String),
			Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
				name := args[0].AsString()
				if !strings.HasPrefix(name, envPrefix) {
					return cty.NilVal, fmt.Errorf("%s cannot be read: only variables that start with %s are allowed", name, envPrefix)
				}
				value, ok := env(name)
				if !ok || value == "" {
					return cty.NilVal, fmt.Errorf("the environment variable %s is missing or empty", name)
				}
				return cty.StringVal(value), nil
			},
		}),
	}}
}
