package lockfile_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// corpus maps names to lock files that OpenTofu accepts. It contains the files in
// testdata and generated files.
func corpus(tb testing.TB, generated uint64) map[string]string {
	tb.Helper()
	all := map[string]string{}
	paths, err := filepath.Glob("testdata/*/*.hcl")
	if err != nil || len(paths) < 15 {
		tb.Fatalf("%d files in testdata, %v", len(paths), err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		all[path] = string(text)
	}
	for i := range generated {
		all[fmt.Sprintf("generated %d", i)] = generate(rand.New(rand.NewPCG(i, 0)))
	}
	return all
}

// generate generates a lock file. The text of each comment is unique.
func generate(r *rand.Rand) string {
	g := &generator{r: r}
	hosts := []string{"registry.opentofu.org", "registry.terraform.io", "bücher.example", "bücher.example:8443", "例え.example", "a.example"}
	types := r.Perm(12)[:r.IntN(7)]
	g.maybe("\xef\xbb\xbf", 10)
	g.maybe("# This file is maintained automatically by \"tofu init\".\n# Manual edits may be lost in future updates.\n", 2)
	for _, i := range types {
		g.maybe("\n", 1, 1, 5)
		g.maybe("module \"child\" {\n  x = var.y\n}\n", 8)
		g.comment(3, true)
		g.add(`provider "%s/corp/type%d" {`, hosts[i%len(hosts)], i)
		if r.IntN(8) == 0 {
			g.add(` version = "1.%d.0" }`, i)
		} else {
			g.block(i)
		}
		g.comment(5, false)
		g.add("\n")
	}
	g.maybe("# at the end\n", 6)
	text := g.b.String()
	if r.IntN(4) == 0 {
		text = strings.TrimSuffix(text, "\n")
	}
	if r.IntN(5) == 0 {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	return text
}

type generator struct {
	r        *rand.Rand
	b        strings.Builder
	comments int
}

func (g *generator) add(format string, a ...any) { fmt.Fprintf(&g.b, format, a...) }

// maybe adds a text with a probability of 1/n for each n in times.
func (g *generator) maybe(text string, times ...int) {
	for _, n := range times {
		if g.r.IntN(n) == 0 {
			g.b.WriteString(text)
		}
	}
}

// comment adds a comment with a probability of 1/times. If whole is set, the comment
// occupies the complete line.
func (g *generator) comment(times int, whole bool) {
	if g.r.IntN(times) != 0 {
		return
	}
	g.comments++
	form := []string{"# c%d;", "// c%d;", "/* c%d; */", "/* c%d;\n more */"}[g.r.IntN(4)]
	if whole {
		form = strings.Repeat(" ", g.r.IntN(3)) + form + "\n"
	} else {
		form = " " + form
	}
	g.add(form, g.comments)
}

// block adds the content and the end of a provider block.
func (g *generator) block(i int) {
	spaces := func() string { return strings.Repeat(" ", g.r.IntN(4)) }
	g.comment(5, false)
	g.add("\n")
	arguments := []func(){
		func() { g.add("%sversion%s=%s\"1.%d.0\"", spaces(), spaces(), spaces(), i) },
		func() { g.add("%sconstraints%s= \"~> 1.0, != 1.0.5\"", spaces(), spaces()) },
		func() { g.hashes() },
	}
	for _, argument := range g.r.Perm(3) {
		if argument > 0 && g.r.IntN(4) == 0 {
			continue
		}
		g.maybe("\n", 5)
		g.comment(4, true)
		arguments[argument]()
		g.comment(4, false)
		g.add("\n")
	}
	g.comment(5, true)
	g.add("}")
}

func (g *generator) hashes() {
	g.add("  hashes = [")
	g.comment(5, false)
	g.add("\n")
	for range 1 + g.r.IntN(4) {
		g.comment(5, true)
		g.add("%*s\"%s:%x\",", g.r.IntN(6), "", []string{"h1", "zh", "h1", "zh", "h2"}[g.r.IntN(5)], g.r.IntN(40))
		g.comment(5, false)
		g.add("\n")
	}
	g.comment(5, true)
	g.add("  ]")
}

func parse(t *testing.T, text string) *lockfile.File {
	t.Helper()
	f, err := lockfile.Parse("f", []byte(text))
	if err != nil {
		t.Fatalf("%v, in\n%s", err, text)
	}
	return f
}

// TestIdentity checks that a parsed file is written unchanged, even after each of its
// selections was set again.
func TestIdentity(t *testing.T) {
	t.Parallel()
	for name, text := range corpus(t, 300) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := parse(t, text)
			for range 2 {
				if diff := cmp.Diff(text, string(f.Bytes())); diff != "" {
					t.Fatal(diff)
				}
				for _, s := range f.Selections() {
					f.Set(s)
				}
			}
		})
	}
}

// TestEdits checks that files stay valid and keep all comments if blocks are changed,
// added, or removed.
func TestEdits(t *testing.T) {
	t.Parallel()
	for name, text := range corpus(t, 60) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, s := range parse(t, text).Selections() {
				f := parse(t, text)
				s.Version = nouns.Version(t, "9.9.9")
				s.Hashes = append(s.Hashes, "zh:new", "h1:new")
				f.Set(s)
				checkEdit(t, f, s)
				checkComments(t, text, f)
				once := f.Bytes()
				if f = parse(t, string(once)); !bytes.Equal(f.Bytes(), once) {
					t.Error("Parse changes the text")
				}
				s.Hashes = nil
				f.Set(s)
				checkEdit(t, f, s)
				f.Remove(s.Address)
				if _, ok := parse(t, string(f.Bytes())).Selection(s.Address); ok {
					t.Errorf("%s is still there", s.Address)
				}
			}
			for _, a := range []string{"0.example/a/a", "bücher.example/corp/type99", "zzz.example/a/a"} {
				f := parse(t, text)
				s := lockfile.Selection{Address: nouns.Address(t, a), Version: nouns.Version(t, "1.0.0"), Hashes: []lockfile.Hash{"zh:a"}}
				f.Set(s)
				checkEdit(t, f, s)
				checkComments(t, text, f)
				f.Remove(s.Address)
				checkComments(t, text, f)
				if diff := cmp.Diff(fields(text), fields(string(f.Bytes()))); text != "" && diff != "" && len(f.Selections()) > 0 {
					t.Error(diff)
				}
			}
		})
	}
}

// Options for comparing values of domain types.
var (
	sameConstraint = cmp.Comparer(func(a, b provider.Constraint) bool { return a.String() == b.String() })
	sameVersion    = cmp.Comparer(func(a, b provider.Version) bool { return a == b })
)

// fields returns a text without white space.
func fields(text string) string { return strings.Join(strings.Fields(text), " ") }

// checkEdit checks that the written file contains s, and that other selections are
// unchanged.
func checkEdit(t *testing.T, f *lockfile.File, s lockfile.Selection) {
	t.Helper()
	again := parse(t, string(f.Bytes()))
	got, ok := again.Selection(s.Address)
	if !ok || got.Version != s.Version || len(got.Hashes) < len(s.Hashes) {
		t.Errorf("got %v, want %v, in\n%s", got, s, f.Bytes())
	}
	anyLine := cmpopts.IgnoreFields(lockfile.Selection{}, "Line")
	if diff := cmp.Diff(f.Selections(), again.Selections(), sameConstraint, sameVersion, anyLine); diff != "" {
		t.Errorf("the selections differ after a second Parse: %s", diff)
	}
}

// checkComments checks that all generated comments, which end in ";", are present.
func checkComments(t *testing.T, text string, f *lockfile.File) {
	t.Helper()
	now := string(f.Bytes())
	for i := 1; strings.Contains(text, fmt.Sprintf(" c%d;", i)); i++ {
		if c := fmt.Sprintf(" c%d;", i); strings.Count(now, c) != 1 {
			t.Errorf("the comment%s appears %d times in\n%s\nof\n%s", c, strings.Count(now, c), now, text)
		}
	}
}
