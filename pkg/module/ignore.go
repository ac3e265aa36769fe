package module

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

const (
	ignoreName    = ".terraformignore"
	maxIgnoreFile = 1 << 20
)

// isNeverPacked reports whether a file or directory is excluded from every package, such
// as .git, OpenTofu's data directory, state files, and lock files.
func isNeverPacked(name string) bool {
	switch name {
	case ".git", ".terraform", "terraform.tfstate.d", ".terraform.lock.hcl", ".terraform.tfstate.lock.info":
		return true
	}
	return strings.HasSuffix(name, ".tfstate") || strings.Contains(name, ".tfstate.") && strings.HasSuffix(name, ".backup")
}

// ignoreRule is a line in .terraformignore. If its pattern starts with a slash, it
// matches only at the root. Otherwise, it matches in all directories.
type ignoreRule struct {
	pattern string
	// isDir reports whether the rule matches only directories.
	isDir, negated bool
}

type ignoreRules []ignoreRule

// readIgnoreRules reads the .terraformignore file of a directory, if it exists.
func readIgnoreRules(dir string) (rules ignoreRules, err error) {
	data, err := bounded.ReadFile(filepath.Join(dir, ignoreName), maxIgnoreFile)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(strings.TrimPrefix(string(data), "\ufeff")) { // from Windows editors
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		var r ignoreRule
		line, r.negated = strings.CutPrefix(line, "!")
		line, r.isDir = strings.CutSuffix(line, "/")
		if line == "" {
			continue
		}
		if strings.HasSuffix(line, "/**") {
			line += "/*" // the contents of the directory, but not a file with its name
		}
		rooted, isRooted := strings.CutPrefix(line, "/")
		if r.pattern = dialect.Replace(rooted); !isRooted {
			r.pattern = "**/" + r.pattern
		}
		if !doublestar.ValidatePattern(r.pattern) || strings.Contains(r.pattern, "[:") { // an unknown class
			return nil, provider.Errorf(provider.Misuse, "%s: invalid pattern %q", ignoreName, line)
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// dialect translates a pattern to the syntax of the library, which interprets braces.
// In this syntax, classes can't start with a bracket or have names, and negated classes
// match slashes.
var dialect = strings.NewReplacer(
	`\\`, `\\`, `\[`, `\[`, `\{`, `\{`, `\}`, `\}`, // already escaped
	"{", `\{`, "}", `\}`,
	"[]", `[\]`, "[!]", `[!/\]`, "[^]", `[!/\]`, "[!", "[!/", "[^", "[!/",
	"[:alnum:]", "0-9A-Za-z", "[:alpha:]", "A-Za-z", "[:digit:]", "0-9", "[:lower:]", "a-z", "[:upper:]", "A-Z",
)

// ignores reports whether a file is ignored. The last rule that matches the file or a
// parent directory applies. However, a negated rule without a final slash, such as
// !modules, includes the directory, but not those of its files that other rules match.
func (rules ignoreRules) ignores(file string) bool {
	var included []string
	for _, r := range slices.Backward(rules) {
		for name := file; name != "."; name = path.Dir(name) {
			switch isFile := name == file; {
			case isFile && r.isDir || !doublestar.MatchUnvalidated(r.pattern, name):
			case r.negated && !isFile && !r.isDir:
				included = append(included, name)
			case r.negated:
				return false
			case !slices.Contains(included, name):
				return true
			}
		}
	}
	return false
}

// ignoresAll reports whether all files in a directory are ignored. It doesn't check the
// directory's parents.
func (rules ignoreRules) ignoresAll(dir string) bool {
	return slices.ContainsFunc(rules, func(r ignoreRule) bool { return doublestar.MatchUnvalidated(r.pattern, dir) }) &&
		!slices.ContainsFunc(rules, func(r ignoreRule) bool { return r.negated })
}
