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

// listed is a package in the output of `go list`. It excludes test files, because they
// can import servers and fixtures.
type listed struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

// rows maps each package to the packages of this module that it can import, except in
// tests. Each package must have a row. Dependencies point down.
var rows = map[string][]string{
	"cmd/tofu-oci": {
		"pkg/approval", "pkg/artifact", "pkg/bundle", "pkg/exec", "pkg/lock", "pkg/lockfile", "pkg/mirror", "pkg/module", "pkg/provider", "pkg/publish", "pkg/pull", "pkg/repository", "pkg/serve", "pkg/source", "pkg/source/builddir", "pkg/source/networkmirror", "pkg/source/oci", "pkg/source/origin", "pkg/store", "pkg/sync", "pkg/template", "pkg/trust", "pkg/verify",
		"internal/atomicfile", "internal/bounded", "internal/catalog", "internal/commandline", "internal/doctor", "internal/explain", "internal/gate", "internal/httpclient", "internal/launch", "internal/metrics", "internal/credentials", "internal/opentofu/cliconfig", "internal/opentofu/configuration", "internal/opentofu/installation", "internal/outcome", "internal/report", "internal/sealed", "internal/serve/access", "internal/serve/api", "internal/serve/pullthrough", "internal/stricthcl", "internal/text", "internal/transfer",
		"templates",
	},
	"templates": {},
	"internal/explain": {
		"pkg/approval", "pkg/artifact", "pkg/exec", "pkg/lock", "pkg/lockfile", "pkg/mirror", "pkg/provider", "pkg/pull", "pkg/repository", "pkg/serve", "pkg/source/builddir", "pkg/source/filesystem", "pkg/source/networkmirror", "pkg/source/origin", "pkg/store", "pkg/sums", "pkg/sync", "pkg/trust",
		"internal/catalog", "internal/git", "internal/httpclient", "internal/credentials", "internal/opentofu/cliconfig", "internal/opentofu/configuration", "internal/opentofu/installation", "internal/packagezip", "internal/serve/api", "internal/stricthcl", "internal/text",
	},
	"internal/report": {
		"pkg/approval", "pkg/artifact", "pkg/bundle", "pkg/finding", "pkg/lock", "pkg/lockfile", "pkg/mirror", "pkg/module", "pkg/provider", "pkg/publish", "pkg/pull", "pkg/repository", "pkg/serve", "pkg/store", "pkg/sync", "pkg/template", "pkg/trust", "pkg/verify",
		"internal/atomicfile", "internal/catalog", "internal/doctor", "internal/explain", "internal/extprog", "internal/httpclient", "internal/credentials", "internal/metrics", "internal/opentofu/cliconfig", "internal/outcome", "internal/serve/api", "internal/serve/pullthrough", "internal/schedule", "internal/text",
	},
	"internal/doctor": {
		"pkg/approval", "pkg/artifact", "pkg/finding", "pkg/lockfile", "pkg/provider", "pkg/publish", "pkg/repository", "pkg/sums", "pkg/template",
		"internal/catalog", "internal/credentials", "internal/httpclient", "internal/opentofu/cliconfig", "internal/opentofu/installation", "internal/stricthcl", "internal/text",
	},
	"pkg/verify": {
		"pkg/approval", "pkg/artifact", "internal/doctor", "pkg/finding", "pkg/provider", "pkg/repository", "pkg/source/oci", "pkg/sums", "pkg/template", "pkg/trust",
		"internal/packagezip", "internal/schedule", "internal/atomicfile",
	},
	"pkg/exec": {
		"internal/opentofu/cliconfig", "internal/opentofu/configuration", "pkg/lock", "pkg/lockfile", "pkg/provider", "pkg/pull", "pkg/source", "pkg/store", "pkg/sums",
		"internal/atomicfile", "internal/packagezip", "internal/schedule", "internal/stricthcl", "internal/text",
	},
	"internal/sealed": {
		"pkg/artifact", "pkg/bundle", "pkg/exec", "pkg/module", "pkg/provider", "pkg/pull", "pkg/repository", "pkg/serve", "pkg/source/oci", "pkg/template",
		"internal/atomicfile", "internal/opentofu/configuration",
	},
	"pkg/sync": {
		"pkg/approval", "pkg/artifact", "pkg/lock", "pkg/lockfile", "pkg/mirror", "pkg/module", "pkg/provider", "pkg/publish", "pkg/repository", "pkg/source", "pkg/source/oci", "pkg/store", "pkg/template", "pkg/trust",
		"internal/atomicfile", "internal/bounded", "internal/catalog", "internal/gate", "internal/schedule", "internal/stricthcl", "internal/text",
	},
	"pkg/mirror":   {"pkg/approval", "pkg/artifact", "pkg/provider", "pkg/publish", "pkg/repository", "pkg/source", "pkg/source/oci", "pkg/template", "internal/schedule"},
	"pkg/bundle":   {"pkg/approval", "pkg/artifact", "pkg/mirror", "pkg/module", "pkg/provider", "pkg/publish", "pkg/repository", "pkg/source/oci", "pkg/sums", "internal/atomicfile", "internal/bounded", "internal/memo", "internal/transfer"},
	"pkg/module":   {"pkg/artifact", "pkg/mirror", "pkg/provider", "pkg/publish", "pkg/pull", "pkg/repository", "pkg/source/oci", "pkg/source/origin", "pkg/template", "internal/atomicfile", "internal/bounded", "internal/extprog", "internal/git", "internal/httpclient", "internal/opentofu/configuration", "internal/packagezip", "internal/text", "internal/transfer"},
	"pkg/approval": {"pkg/artifact", "pkg/provider", "pkg/publish", "pkg/repository", "pkg/source", "pkg/source/oci", "pkg/trust", "internal/bounded", "internal/schedule"},
	"pkg/publish": {
		"pkg/approval", "pkg/artifact", "pkg/provider", "pkg/repository", "pkg/source", "pkg/source/oci", "pkg/sums", "pkg/template",
		"internal/atomicfile", "internal/bounded", "internal/extprog", "internal/memo", "internal/packagezip", "internal/sbom", "internal/schedule", "internal/transfer",
	},
	"internal/gate": {
		"pkg/artifact", "pkg/provider", "pkg/publish", "pkg/repository", "pkg/source/oci", "pkg/trust",
		"internal/atomicfile", "internal/bounded", "internal/extprog", "internal/packagezip", "internal/text", "internal/transfer",
	},
	"pkg/pull": {
		"pkg/provider", "pkg/source", "pkg/store", "pkg/sums",
		"internal/atomicfile", "internal/bounded", "internal/packagezip", "internal/schedule", "internal/transfer",
	},
	"internal/serve/page":   {"internal/serve/api", "pkg/finding"},
	"internal/serve/access": {"pkg/provider", "pkg/template", "internal/bounded", "internal/httpclient", "internal/stricthcl"},
	"internal/catalog": {
		"pkg/artifact", "pkg/provider", "pkg/repository", "pkg/template",
		"internal/bounded", "internal/httpclient", "internal/schedule", "internal/text",
	},
	"internal/serve/api": {"pkg/finding", "pkg/provider", "internal/bounded", "internal/httpclient"},
	"internal/serve/pullthrough": {
		"pkg/artifact", "pkg/mirror", "pkg/provider", "pkg/publish", "pkg/repository", "pkg/sums", "pkg/template", "pkg/trust",
		"internal/serve/spool", "internal/bounded", "internal/memo", "internal/atomicfile", "internal/transfer",
	},
	"internal/serve/spool": {"pkg/artifact", "pkg/provider", "internal/atomicfile", "internal/bounded", "internal/transfer"},
	"pkg/serve": {
		"pkg/approval", "pkg/artifact", "internal/catalog", "internal/opentofu/cliconfig", "pkg/finding", "pkg/lockfile", "pkg/module", "pkg/provider", "pkg/repository", "internal/serve/access", "internal/serve/api", "internal/serve/pullthrough", "internal/serve/page", "internal/serve/spool", "pkg/source", "pkg/source/oci", "pkg/store", "pkg/sums", "pkg/template", "pkg/trust", "pkg/verify",
		"internal/bounded", "internal/httpclient", "internal/memo", "internal/schedule", "internal/text",
	},
	"internal/launch": {"pkg/provider", "pkg/pull", "internal/extprog", "internal/packagezip", "internal/atomicfile"},
	"pkg/trust":       {"pkg/artifact", "pkg/provider", "internal/bounded", "internal/memo", "internal/stricthcl"},
	"internal/opentofu/installation": {
		"pkg/provider", "pkg/source/filesystem", "pkg/source/origin", "pkg/template",
		"internal/credentials", "internal/opentofu/cliconfig", "internal/stricthcl",
	},

	"pkg/source/origin":        {"pkg/artifact", "pkg/provider", "pkg/sums", "internal/bounded", "internal/httpclient", "internal/memo", "internal/schedule", "internal/text", "internal/transfer"},
	"pkg/source/networkmirror": {"pkg/provider", "pkg/source/origin", "pkg/store", "pkg/sums", "internal/atomicfile", "internal/httpclient", "internal/memo", "internal/packagezip", "internal/schedule", "internal/transfer"},
	"pkg/source/oci":           {"pkg/artifact", "pkg/provider", "pkg/repository", "pkg/source", "pkg/sums", "internal/schedule"},
	"pkg/source/builddir":      {"pkg/artifact", "pkg/provider", "pkg/source", "pkg/sums", "internal/bounded", "internal/memo", "internal/packagezip", "internal/text"},
	"pkg/source/filesystem":    {"pkg/provider", "pkg/sums", "internal/bounded", "internal/memo", "internal/packagezip"},
	"pkg/source":               {"pkg/artifact", "pkg/provider", "pkg/store", "pkg/sums", "internal/httpclient", "internal/memo"},
	"pkg/store":                {"pkg/provider", "pkg/sums", "internal/atomicfile", "internal/bounded"},
	"pkg/repository": {
		"pkg/artifact", "pkg/provider", "pkg/sums", "pkg/template",
		"internal/atomicfile", "internal/bounded", "internal/httpclient", "internal/memo", "internal/text", "internal/schedule", "internal/transfer",
	},
	"internal/opentofu/cliconfig":     {"pkg/provider", "pkg/template", "internal/bounded", "internal/text", "internal/stricthcl"},
	"pkg/artifact":                    {"pkg/provider", "pkg/sums", "internal/bounded"},
	"pkg/lock":                        {"internal/opentofu/configuration", "internal/doctor", "pkg/lockfile", "pkg/finding", "pkg/provider", "pkg/repository", "pkg/source", "pkg/sums", "pkg/template", "internal/memo", "internal/packagezip", "internal/schedule", "internal/text", "internal/transfer"},
	"pkg/finding":                     {},
	"pkg/lockfile":                    {"pkg/provider", "internal/bounded", "internal/stricthcl", "internal/atomicfile"},
	"pkg/template":                    {"pkg/provider", "internal/text"},
	"pkg/sums":                        {"pkg/provider"},
	"pkg/provider":                    {"internal/text"},
	"internal/opentofu/configuration": {"internal/opentofu/cliconfig", "pkg/provider", "internal/bounded", "internal/stricthcl"},

	"internal/sbom":        {"pkg/provider"},
	"internal/packagezip":  {"pkg/artifact", "pkg/provider", "pkg/sums", "internal/bounded", "internal/atomicfile", "internal/text", "internal/transfer"},
	"internal/transfer":    {"pkg/artifact", "pkg/provider", "pkg/sums", "internal/bounded", "internal/httpclient", "internal/schedule"},
	"internal/httpclient":  {"pkg/provider", "internal/bounded", "internal/text", "internal/schedule"},
	"internal/credentials": {"internal/opentofu/cliconfig", "pkg/provider", "pkg/template", "internal/bounded", "internal/extprog", "internal/memo", "internal/atomicfile", "internal/text"},
	"internal/extprog":     {"pkg/provider", "internal/bounded", "internal/text"},
	"internal/git":         {"pkg/provider", "internal/atomicfile", "internal/extprog", "internal/text"},
	"internal/bounded":     {"internal/text"},
	"internal/text":        {},
	"internal/memo":        {},
	"internal/schedule":    {},
	"internal/stricthcl":   {"pkg/provider"},
	"internal/metrics":     {"pkg/provider", "pkg/serve", "internal/bounded", "internal/serve/pullthrough"},
	"internal/outcome":     {"pkg/artifact", "pkg/provider", "pkg/publish", "pkg/serve", "pkg/sync", "pkg/trust", "internal/atomicfile", "internal/bounded", "internal/explain", "internal/httpclient", "internal/metrics", "internal/text"},
	"internal/commandline": {
		"pkg/provider",
		"internal/text",
	},
	"internal/atomicfile": {"internal/bounded"},

	"internal/testing/nouns": {"pkg/provider"},
	"internal/testing/exampletest": {
		"pkg/artifact", "pkg/provider", "pkg/repository", "pkg/source/builddir", "internal/testing/origintest",
	},
	"internal/testing/sourcetest":   {"pkg/provider"},
	"internal/testing/registrytest": {"internal/httpclient", "internal/testing/memnet", "internal/testing/origintest", "internal/testing/patience", "internal/testing/testca"},
	"internal/testing/origintest":   {"pkg/provider", "pkg/sums"},
	"internal/testing/testca":       {},
	"internal/testing/memnet":       {},
	"internal/testing/patience":     {},
	"internal/testing/faults":       {},
	"internal/testing/gittest":      {},
	"internal/testing/gpgtest":      {},
	"internal/testing/issuertest":   {},
}

// TestImportDirections checks that packages import only the packages in their row.
func TestImportDirections(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for _, p := range goList(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		may, known := rows[name]
		if found[name] = true; !known {
			t.Errorf("%s has no row in this test: say what it may import", name)
		}
		for _, path := range p.Imports {
			imported, ours := strings.CutPrefix(path, module)
			if ours && known && !slices.Contains(may, imported) {
				t.Errorf("%s imports %s, and may import only %q of this module", name, imported, may)
			}
		}
	}
	for name, may := range rows {
		if !found[name] {
			t.Errorf("there is a row for %s, which does not exist", name)
		}
		for _, imported := range may {
			switch {
			case strings.HasPrefix(imported, "cmd/"):
				t.Errorf("the row of %s lets it import a command", name)
			case strings.HasPrefix(imported, "internal/testing/") && !strings.HasPrefix(name, "internal/testing/"):
				t.Errorf("the row of %s lets shipped code import %s, which is for tests", name, imported)
			}
		}
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
	"internal/serve/pullthrough/job.go": "wraps a repository", "pkg/publish/memory.go": "wraps a repository",
	"pkg/approval/deny.go": "records", "pkg/module/push.go": "latest", "pkg/publish/copy.go": "latest",
}

// TestOnlyCommitWritesVersions checks that files that write the tags of versions do so in
// calls of publish.Commit, which decides about denials, waiting approvals, and gates.
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
	if found != 4 {
		t.Errorf("%d files write the tags of versions, want 4", found)
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
