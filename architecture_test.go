package tofuoci_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/tofu-oci/tofu-oci/"

// listed is what `go list` tells of a package. Tests are left out: they may
// reach further, to servers and fixtures.
type listed struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

// TestDirections holds the dependencies of packages to the plan of the house:
// they point down only.
func TestDirections(t *testing.T) {
	t.Parallel()
	// What each package of the module may import of it; "internal/" is any
	// package there. What is not here may not exist: a new package comes with
	// its line.
	allowed := map[string][]string{
		"pkg/provider":     {},
		"pkg/sums":         {},
		"pkg/template":     {"pkg/provider", "pkg/sums"},
		"pkg/artifact":     {"pkg/provider", "pkg/sums"},
		"pkg/source":       {"pkg/artifact", "pkg/provider", "pkg/sums", "internal/"},
		"pkg/publish":      {"pkg/source", "pkg/template", "pkg/artifact", "pkg/provider", "pkg/sums", "internal/"},
		"pkg/pull":         {"pkg/source", "pkg/artifact", "pkg/provider", "pkg/sums", "internal/"},
		"pkg/cliconfig":    {"pkg/template", "pkg/provider", "pkg/sums"},
		"pkg/installation": {"pkg/source", "pkg/template", "pkg/cliconfig", "pkg/artifact", "pkg/provider", "pkg/sums"},
		"pkg/doctor":       {"pkg/installation", "pkg/cliconfig", "pkg/template", "pkg/artifact", "pkg/provider", "pkg/sums"},
		"cmd/tofu-oci":     {"pkg/", "internal/"},
	}
	for _, p := range goList(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		may, known := allowed[name]
		if !known && !strings.HasPrefix(name, "internal/") {
			t.Errorf("%s is not in this test: say what it may import", name)
		}
		for _, path := range p.Imports {
			imported, ours := strings.CutPrefix(path, module)
			if ours && known && !slices.ContainsFunc(may, func(m string) bool { return covers(m, imported) }) {
				t.Errorf("%s imports %s, and may import only %q of this module", name, imported, may)
			}
			if ours && strings.HasPrefix(name, "internal/") && strings.HasPrefix(imported, "cmd/") {
				t.Errorf("%s imports %s", name, imported)
			}
		}
	}
}

func covers(rule, imported string) bool {
	return rule == imported || strings.HasSuffix(rule, "/") && strings.HasPrefix(imported, rule)
}

// TestSeclusion holds what only one room may know.
func TestSeclusion(t *testing.T) {
	t.Parallel()
	for _, p := range goList(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		for _, path := range p.Imports {
			if strings.HasPrefix(path, "oras.land/oras-go/v2/registry") && name != "internal/ocirepo" {
				t.Errorf("%s imports %s, which only internal/ocirepo may", name, path)
			}
		}
		for _, path := range p.Deps {
			if strings.HasPrefix(path, "github.com/urfave/cli") && name != "cmd/tofu-oci" {
				t.Errorf("%s depends on %s, which only the command line may", name, path)
			}
			if path == module+"internal/ocirepo" && name == "pkg/cliconfig" {
				t.Errorf("%s depends on %s: logins are handed over as a function", name, path)
			}
		}
	}
}

// TestOnlyMainExits looks for os.Exit, and what ends in it, in the code that is
// shipped.
func TestOnlyMainExits(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for _, room := range []string{"cmd", "pkg", "internal"} {
		err := filepath.WalkDir(room, func(path string, _ fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") && exits(t, path) {
				found[filepath.ToSlash(path)] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if want := "cmd/tofu-oci/main.go"; len(found) != 1 || !found[want] {
		t.Errorf("the process is ended in %v, want %s only", found, want)
	}
}

// exits tells whether a file calls os.Exit or log.Fatal.
func exits(t *testing.T, path string) (found bool) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if selector, ok := n.(*ast.SelectorExpr); ok {
			x, isName := selector.X.(*ast.Ident)
			name := selector.Sel.Name
			found = found || isName && (x.Name == "os" && name == "Exit" || x.Name == "log" && strings.HasPrefix(name, "Fatal"))
		}
		return true
	})
	return found
}

// goList describes the packages of the module, those of the root aside.
func goList(t *testing.T) []listed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports,Deps", "./cmd/...", "./pkg/...", "./internal/...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var packages []listed
	for decoder := json.NewDecoder(strings.NewReader(string(out))); decoder.More(); {
		var p listed
		if err := decoder.Decode(&p); err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
	return packages
}
