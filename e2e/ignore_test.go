package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-slug"

	"github.com/tofu-oci/tofu-oci/pkg/module"
)

// ignoreSeeds is the number of directories that FuzzIgnoreRules compares without -fuzz.
const ignoreSeeds = 1000

// FuzzIgnoreRules packs random directories with random .terraformignore files. It
// compares the files with those that go-slug, the implementation in Terraform, and git
// include for the same rules, translated to the other program's dialect. The seed
// determines the directory and the rules.
//
// It doesn't cover invalid patterns, which ReadDirectory rejects and the others ignore,
// spaces at the end of patterns, which only Git supports, and names that aren't ASCII,
// because Git matches bytes.
func FuzzIgnoreRules(f *testing.F) {
	repository := f.TempDir()
	if out, err := plainGit(f.Context(), repository, "init", "--quiet", "--bare", repository).CombinedOutput(); err != nil {
		f.Fatalf("%v\n%s", err, out)
	}
	for seed := range uint64(ignoreSeeds) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		random := ignoreGenerator{rand.New(rand.NewPCG(seed, 0))}
		dir, files := t.TempDir(), random.files()
		for _, name := range files {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, name), "")
		}
		rules := random.rules(files)
		write(t, filepath.Join(dir, ".terraformignore"), random.encode(rules))
		got, isEmpty := packedFiles(t, dir)
		compare := func(program, translated string, want []string) {
			t.Helper()
			want = slices.DeleteFunc(want, func(name string) bool { return !slices.Contains(files, name) || neverPacked.MatchString(name) })
			if isEmpty { // only root files decide whether ReadDirectory rejects a directory
				want = slices.DeleteFunc(want, func(name string) bool { return path.Dir(name) != "." || path.Ext(name) != ".tf" })
			}
			slices.Sort(want)
			if diff := cmp.Diff(strings.Join(want, "\n"), strings.Join(got, "\n")); diff != "" {
				t.Errorf("seed %d: the files differ (-%s +tofu-oci):\n%s\nrules:\n%s\nrules of %s:\n%s", seed, program, diff, rules, program, translated)
			}
		}
		if !onlyIncludesDirectory.MatchString(rules) {
			translated := slugDialect.translate(rules)
			write(t, filepath.Join(dir, ".terraformignore"), translated)
			compare("go-slug", translated, slugFiles(t, dir))
		}
		translated := gitDialect.translate(rules)
		write(t, filepath.Join(dir, ".gitignore"), translated)
		ignored := ignoredByGit(t, repository, dir, files)
		compare("git", translated, slices.DeleteFunc(slices.Clone(files), func(name string) bool {
			// Git never includes a file again if it excludes a parent directory.
			isFinal := ignored[path.Dir(name)] && negatedRule.MatchString(rules)
			return ignored[name] && (!isFinal || !slices.Contains(got, name))
		}))
	})
}

// neverPacked matches files that module push never packs, whatever the rules are,
// because they can contain secrets or depend on the machine. go-slug excludes .git and
// .terraform, but not .terraform/modules, unless a rule includes them.
var neverPacked = regexp.MustCompile(`(^|/)\.terraform(/|\.lock\.hcl$)|\.tfstate$`)

// onlyIncludesDirectory matches negated rules that include a directory again, but not
// the files in it that other rules exclude. go-slug has no such rules, because its rules
// match the files in a directory only if they end with a slash.
var onlyIncludesDirectory = regexp.MustCompile(`(?m)^\s*!.*[^/f]$`) // .tf is not a directory

var negatedRule = regexp.MustCompile(`(?m)^\s*!`)

// dialect contains regular expressions and their replacements, which translate rules for
// a program that interprets them differently.
type dialect []struct{ from, to string }

var slugDialect = dialect{
	// go-slug panics. Git ignores these lines.
	{`(?m)^[ \t]+$|^!$`, ``},
	// go-slug would exclude all files. Git ignores these lines.
	{`(?m)^!?/$`, ``},
	// According to Git's documentation, ** is an ordinary asterisk unless it is a whole
	// element of a path. In go-slug, a** also matches slashes, and a**b requires a slash.
	{partOfElement, `$1*$2`},
	// A final slash matches only directories. In go-slug, **/ also matches files.
	{`(?m)\*\*/(\t*)$`, `**/*/$1`},
	// According to Git's documentation, [!a] is the same as [^a] and matches no slash.
	{`\[[!^]`, `[^/`},
	// go-slug interprets other characters, and \d, as parts of a regular expression.
	{`\\?([+(){}|])`, `\$1`},
	{`\\([A-Za-z0-9])`, `$1`},
	// As in Git, "secrets" excludes all files in a directory with this name. go-slug would
	// pack them.
	{`(?m)^(\t*[^!#\t\n](.*[^/\t\n])?)\t*$`, "$1\n$1/"},
}

var gitDialect = dialect{
	// As in go-slug, spaces around patterns have no meaning.
	{`(?m)^[ \t]+|\t+$`, ``},
	// Contrary to its documentation, Git interprets the asterisks in a** as a whole element.
	{partOfElement, `$1*$2`},
	// As in go-slug, !a/ also includes the files in a that other rules exclude.
	{`(?m)(^!?|/)\*\*/$`, `$1**/*/`},
	{`(?m)^(!.*[^/\n])/$`, "$0\n$1/**"},
	// As in go-slug, a/b matches at any level unless it starts with a slash.
	{`(?m)^(!)([^/\n].*/.+)$|^([^!#/\n].*/.+)$`, "$1**/$2$3"},
}

// partOfElement matches ** in a part of an element of a path. Tabs surround patterns.
const partOfElement = `([^/!\t\n])\*\*|\*\*([^/\t\n])`

func (d dialect) translate(rules string) string {
	for _, replacement := range d {
		rules = regexp.MustCompile(replacement.from).ReplaceAllString(rules, replacement.to)
	}
	return rules
}

// packedFiles returns the files that module push would pack, except .terraformignore.
// isEmpty reports whether the rules exclude the configuration of the module, which
// module push rejects.
func packedFiles(t *testing.T, dir string) (names []string, isEmpty bool) {
	t.Helper()
	d, err := module.ReadDirectory(t.Context(), dir)
	if err != nil && strings.Contains(err.Error(), "empty module") {
		return nil, true
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range d.Files {
		if f.Path != ".terraformignore" {
			names = append(names, f.Path)
		}
	}
	return names, false
}

// slugFiles returns the files and directories that go-slug packs.
func slugFiles(t *testing.T, dir string) []string {
	t.Helper()
	meta, err := slug.Pack(dir, io.Discard, false)
	if err != nil {
		t.Fatal(err)
	}
	return meta.Files
}

// ignoredByGit returns the files and directories that .gitignore excludes.
func ignoredByGit(t *testing.T, repository, dir string, files []string) map[string]bool {
	t.Helper()
	var all []string
	for _, name := range files {
		for ; name != "."; name = path.Dir(name) {
			all = append(all, name)
		}
	}
	cmd := plainGit(t.Context(), repository, "--work-tree="+dir, "check-ignore", "--no-index", "-z", "--stdin")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(strings.Join(all, "\x00"))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() != 1) { // 1: nothing is ignored
		t.Fatalf("%v\n%s", err, &stderr)
	}
	ignored := map[string]bool{}
	for name := range strings.SplitSeq(string(out), "\x00") {
		ignored[name] = true
	}
	return ignored
}

// plainGit returns a git command that doesn't use the user's configuration.
func plainGit(ctx context.Context, repository string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "git", append([]string{"--git-dir=" + repository, "-c", "core.ignoreCase=false", "-c", "core.bare=false"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	return cmd
}

// ignoreGenerator generates directories and rules.
type ignoreGenerator struct{ *rand.Rand }

// oneIn returns true once in n calls on average.
func (r ignoreGenerator) oneIn(n int) bool { return r.IntN(n) == 0 }

func (r ignoreGenerator) one(of ...string) string { return of[r.IntN(len(of))] }

// files returns the paths of files. Only files have names with .tf.
func (r ignoreGenerator) files() []string {
	files := []string{"main.tf"}
	dirs := []string{"."}
	for range r.IntN(8) {
		dirs = append(dirs, path.Join(r.one(dirs...), r.one("a", "b", "ab", "modules", ".a", "a.d", "x y", "a+b", "{a,b}", "[b]", "#a", "!b", "(a|b)", "a$b")))
	}
	if r.oneIn(5) {
		dirs = append(dirs, path.Join(r.one(dirs...), ".terraform/modules/a"))
	}
	for range 2 + r.IntN(15) {
		files = append(files, path.Join(r.one(dirs...), r.one("a", "b", "ab", "modules", ".a", ".env", "x y", "a+b", "{a,b}", "[b]", "#a", "!b", "(a|b)", "a$b",
			"main.tf", "a.tf", "b.tf", "a-b.tf", "{a}.tf", "terraform.tfstate", ".terraform.lock.hcl")))
	}
	slices.Sort(files)
	files = slices.Compact(files)
	return slices.DeleteFunc(files, func(name string) bool { // a name can't be a file and a directory
		return slices.ContainsFunc(files, func(other string) bool { return strings.HasPrefix(other, name+"/") })
	})
}

// rules returns the lines of a file. Most rules match files in a list.
func (r ignoreGenerator) rules(files []string) string {
	var rules strings.Builder
	for range 1 + r.IntN(5) {
		rules.WriteString(r.rule(r.one(files...)) + "\n")
	}
	if r.oneIn(3) {
		rules.WriteString("!/main.tf\n")
	}
	return rules.String()
}

func (r ignoreGenerator) rule(file string) string {
	if r.oneIn(20) {
		return r.one("", "  ", "#a", " # a", "!", "/", "!/", "**", "/**", "**/", "*/", "/*/", "/*", "*", "./a", "a//b", "//a")
	}
	// 1. Choose some elements of a path, and replace parts of them.
	elements := strings.Split(file, "/")
	end := 1 + r.IntN(len(elements))
	start := r.IntN(end)
	isFile := end == len(elements)
	elements = elements[start:end]
	for i, element := range elements {
		elements[i] = r.element(element)
	}
	separator := "/"
	if r.oneIn(20) {
		separator = r.one("?", "[!z]", "[^z]") // matches no slash
	}
	rule := strings.Join(elements, separator)
	// 2. Add slashes and a sign.
	if !isFile && r.oneIn(4) {
		rule += "/" + r.one("**", "*", "**/*.tf")
	} else if !isFile && !r.oneIn(3) || r.oneIn(8) {
		rule += "/"
	}
	switch {
	case start == 0 && r.oneIn(2) || r.oneIn(10):
		rule = "/" + rule
	case r.oneIn(6):
		rule = "**/" + rule
	}
	if r.oneIn(3) {
		rule = "!" + rule
	}
	if r.oneIn(10) {
		rule = r.one("\t", "\t\t", "") + rule + r.one("\t", "")
	}
	return rule
}

// special matches the characters with a meaning in patterns.
var special = regexp.MustCompile(`[\[\\*?]`)

// element returns a pattern for an element of a path.
func (r ignoreGenerator) element(name string) string {
	runes := strings.Split(name, "")
	for i, character := range runes {
		runes[i] = special.ReplaceAllString(character, `\$0`)
	}
	i := r.IntN(len(runes))
	isLetter := runes[i] >= "a" && runes[i] <= "z"
	switch r.IntN(14) {
	case 0:
		return r.one("*", "*", "**")
	case 1:
		return strings.Join(runes[:i], "") + r.one("*", "*", "**")
	case 2:
		return r.one("*", "*", "**") + strings.Join(runes[i:], "")
	case 3:
		runes[i] += r.one("*", "**")
	case 4:
		runes[i] = "?"
	case 5:
		if isLetter {
			runes[i] = r.one("[ab]", "[a-c]", "[!b]", "[^b]", "["+runes[i]+"]", "[[:alpha:]]", "[^[:digit:]]", "[]a]", `[\]a]`, "[{a}]")
		}
	case 6:
		runes[i] = `\` + strings.TrimPrefix(runes[i], `\`)
	case 7:
		runes[i] = strings.ToUpper(runes[i])
	}
	return strings.Join(runes, "")
}

// encode returns the content of a file with the line endings of a random system.
func (r ignoreGenerator) encode(rules string) string {
	if r.oneIn(10) {
		rules = "\ufeff" + strings.ReplaceAll(rules, "\n", "\r\n")
	}
	return rules
}
