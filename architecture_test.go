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
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/tofu-oci/tofu-oci/"

// listed is a package in the output of `go list`. It excludes test files, because they
// can import servers and fixtures.
type listed struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

// listedPackages returns the packages in the table of docs/architecture.md, in its order.
func listedPackages(t *testing.T) (names []string) {
	t.Helper()
	page, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n| layer |")
	for _, name := range regexp.MustCompile("`([a-z0-9/-]+)`").FindAllStringSubmatch(table, -1) {
		names = append(names, name[1])
	}
	return names
}

// TestImportDirections checks that each package is in the table of docs/architecture.md,
// and imports only packages further down.
func TestImportDirections(t *testing.T) {
	t.Parallel()
	order := listedPackages(t)
	found := 0
	for _, p := range goList(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		at := slices.Index(order, name)
		switch {
		case strings.HasPrefix(name, "internal/testing/"):
			continue
		case at < 0:
			t.Errorf("docs/architecture.md doesn't list %s", name)
			continue
		}
		found++
		for _, path := range p.Imports {
			if imported, ours := strings.CutPrefix(path, module); ours && !slices.Contains(order[at:], imported) {
				t.Errorf("%s imports %s, which precedes it in docs/architecture.md", name, imported)
			}
		}
	}
	if found != len(order)-1 { // e2e is a separate module
		t.Errorf("docs/architecture.md lists %d packages, but %d exist", len(order)-1, found)
	}
}

// TestRestrictedImports checks that only one package imports each of certain modules.
func TestRestrictedImports(t *testing.T) {
	t.Parallel()
	for _, p := range goList(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		for _, path := range p.Imports {
			if strings.HasPrefix(path, "oras.land/oras-go/v2") && name != "pkg/repository" {
				t.Errorf("%s imports %s, which only pkg/repository may", name, path)
			}
			if strings.HasPrefix(path, "github.com/go-jose") && name != "internal/serve/access" {
				t.Errorf("%s imports %s, which only internal/serve/access may", name, path)
			}
			if strings.HasPrefix(path, "github.com/prometheus/") && name != "internal/metrics" {
				t.Errorf("%s imports %s, which only internal/metrics may", name, path)
			}
		}
		for _, path := range p.Deps {
			if strings.HasPrefix(path, "github.com/urfave/cli") && name != "cmd/tofu-oci" && name != "internal/commandline" {
				t.Errorf("%s depends on %s, which only the command line may", name, path)
			}
			foreign := strings.HasPrefix(path, "github.com/hashicorp/go-plugin") || strings.HasPrefix(path, "google.golang.org/grpc")
			if foreign && name != "internal/launch" && name != "cmd/tofu-oci" {
				t.Errorf("%s depends on %s, which is for launching providers only", name, path)
			}
			if path == module+"pkg/repository" && name == "internal/opentofu/cliconfig" {
				t.Errorf("%s depends on %s: logins are handed over as a function", name, path)
			}
			if strings.HasPrefix(path, module+"internal/testing/") && !strings.HasPrefix(name, "internal/testing/") {
				t.Errorf("%s depends on %s, which is for tests", name, path)
			}
		}
	}
}

// TestOnlyMainExits checks that only main calls os.Exit or a function that calls it.
func TestOnlyMainExits(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for _, dir := range []string{"cmd", "pkg", "internal"} {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
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

// exits reports whether a file calls os.Exit or log.Fatal.
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

// tagWriters maps the files outside pkg/repository that write tags by themselves to what
// these tags are.
var tagWriters = map[string]string{
	"internal/doctor/probe.go": "temporary", "internal/doctor/probe_checks.go": "temporary", "internal/doctor/probe_cleanup.go": "temporary",
	"internal/serve/pullthrough/job.go": "wraps a repository", "pkg/publish/run_cache.go": "wraps a repository",
	"pkg/approval/deny.go": "records", "pkg/publish/latest.go": "latest",
}

// TestOnlyCommitWritesVersions checks that files that write the tags of versions do so in
// calls of publish.Commit, which decides about denials, missing approvals, and gates.
func TestOnlyCommitWritesVersions(t *testing.T) {
	t.Parallel()
	found := 0
	for _, dir := range []string{"cmd", "pkg", "internal"} {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			name := filepath.ToSlash(path)
			if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "pkg/repository/") || strings.HasPrefix(name, "internal/testing/") {
				return err
			}
			called := calls(t, path)
			writes := called["repository.WriteTag"] || called["repository.Push"] || called["repository.Copy"]
			commits := called["Commit"] || called["publish.Commit"]
			if writes && commits {
				found++
			}
			if writes && !commits && tagWriters[name] == "" {
				t.Errorf("%s writes the tag of a version without publish.Commit", name)
			}
			if called["PushTag"] && tagWriters[name] == "" {
				t.Errorf("%s writes a tag", name)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found != 3 {
		t.Errorf("%d files write the tags of versions, want 3", found)
	}
}

// calls returns the names of the functions that a file calls: with the package if the
// operand is a name, and always without it.
func calls(t *testing.T, path string) map[string]bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	called := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		switch function := call.Fun.(type) {
		case *ast.Ident:
			called[function.Name] = true
		case *ast.SelectorExpr:
			called[function.Sel.Name] = true
			if x, isName := function.X.(*ast.Ident); isName {
				called[x.Name+"."+function.Sel.Name] = true
			}
		}
		return true
	})
	return called
}

// goList returns the packages of the module, except those in the root.
func goList(t *testing.T) []listed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports,Deps", "./cmd/...", "./pkg/...", "./internal/...", "./templates")
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
