package module

import (
	"errors"
	"os"
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
	for line := range strings.Lines(string(data)) {
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
		if r.pattern = literalBraces.Replace(rooted); !isRooted {
			r.pattern = "**/" + r.pattern
		}
		if !doublestar.ValidatePattern(r.pattern) {
			return nil, provider.Errorf(provider.Misuse, "%s: invalid pattern %q", ignoreName, line)
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// literalBraces escapes the braces in a pattern, which .terraformignore doesn't interpret.
var literalBraces = strings.NewReplacer("{", `\{`, "}", `\}`)

// ignores reports whether a file is ignored. The last rule that matches the file or a
// parent directory applies.
func (rules ignoreRules) ignores(file string) bool {
	for _, r := range slices.Backward(rules) {
		if !r.isDir && doublestar.MatchUnvalidated(r.pattern, file) || r.matchesParent(file) {
			return !r.negated
		}
	}
	return false
}

// ignoresAll reports whether all files in a directory are ignored.
func (rules ignoreRules) ignoresAll(dir string) bool {
	return slices.ContainsFunc(rules, func(r ignoreRule) bool { return r.matchesParent(dir + "/") }) &&
		!slices.ContainsFunc(rules, func(r ignoreRule) bool { return r.negated })
}

// matchesParent reports whether the rule matches a directory that contains the file. If
// the path ends with a slash, it checks the directory itself, too.
func (r ignoreRule) matchesParent(file string) bool {
	for i := range len(file) {
		if file[i] == '/' && doublestar.MatchUnvalidated(r.pattern, file[:i]) {
			return true
		}
	}
	return false
}
