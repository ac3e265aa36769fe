package lockfile_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// TestGolden checks that selections in any order produce the same file as OpenTofu.
// testdata/opentofu/init.hcl is from OpenTofu 1.12.6.
func TestGolden(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/opentofu/*.hcl")
	if err != nil || len(paths) < 2 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		selections := parse(t, string(want)).Selections()
		for range 5 {
			var f lockfile.File
			rand.Shuffle(len(selections), func(i, j int) { selections[i], selections[j] = selections[j], selections[i] })
			for _, s := range selections {
				rand.Shuffle(len(s.Hashes), func(i, j int) { s.Hashes[i], s.Hashes[j] = s.Hashes[j], s.Hashes[i] })
				s.Hashes = append(s.Hashes, s.Hashes...)
				f.Set(s)
			}
			if diff := cmp.Diff(string(want), string(f.Bytes())); diff != "" {
				t.Fatalf("%s: %s", path, diff)
			}
		}
		// Adding and removing a provider restores the file.
		for _, s := range selections {
			f := parse(t, string(want))
			f.Remove(s.Address)
			f.Set(s)
			if diff := cmp.Diff(string(want), string(f.Bytes())); diff != "" {
				t.Errorf("%s, without %s and with it: %s", path, s.Address, diff)
			}
		}
	}
}

func TestFormatConstraints(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                     "",
		"1":                    "1.0.0",
		"= 1.2.3":              "1.2.3",
		"~> 2":                 "~> 2.0",
		"~>2.1":                "~> 2.1",
		"~> 2.1.0, ~> 2.1":     "~> 2.1.0, ~> 2.1",
		">= 2.0, >= 2.0.0,>=2": ">= 2.0.0",
		"< 3, !=1.0.5, >=1.0.1, 1.0.3-beta+m, ~> 1":                       "~> 1.0, >= 1.0.1, 1.0.3-beta+m, != 1.0.5, < 3.0.0",
		"!= 1, < 1, <= 1, ~> 1.0, ~> 1.0.0, 1, >= 1, > 1":                 "> 1.0.0, >= 1.0.0, 1.0.0, ~> 1.0.0, ~> 1.0, <= 1.0.0, < 1.0.0, != 1.0.0",
		"!= 1.0.0, != 1.0.0-rc.10, != 1.0.0-rc.9, != 1.0.0+b, != 1.0.0+a": "!= 1.0.0-rc.9, != 1.0.0-rc.10, != 1.0.0, != 1.0.0+a, != 1.0.0+b",
	} {
		var c provider.Constraint
		if text != "" {
			var err error
			if c, err = provider.ParseConstraint(text); err != nil {
				t.Fatal(err)
			}
		}
		if got := lockfile.FormatConstraints(c); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

// TestSet checks how comments are preserved.
func TestSet(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/corpus/comments.hcl")
	if err != nil {
		t.Fatal(err)
	}
	f := parse(t, string(text))
	s := f.Selections()[0]
	s.Version, s.Hashes = nouns.Version(t, "1.3.0"), []lockfile.Hash{"zh:new", "h1:a"}
	f.Set(s)
	before, _, _ := strings.Cut(string(text), "provider ")
	want := before + `provider "registry.opentofu.org/corp/thing" { /* the */ /* one */ // opens
  # about the version
  /* inside */
  version     = "1.3.0" # pinned
  /* between */
  constraints = "~> 1.2" // from main.tf
  # above the list
  hashes = [ # opens too
    /* linux */
    "h1:a", /* beside
    a */
    # mac
    "zh:new",
    # the end of the list
  ] # closes
  # the end of the block
} # after the block

# at the end
`
	if diff := cmp.Diff(want, string(f.Bytes())); diff != "" {
		t.Error(diff)
	}
	s.Constraints, s.Hashes = provider.Constraint{}, nil
	f.Set(s)
	want = before + `provider "registry.opentofu.org/corp/thing" { /* the */ /* one */ // opens
  # about the version
  /* inside */
  version = "1.3.0" # pinned
  /* between */
  # above the list
  /* linux */
  # mac
  # the end of the list
  # the end of the block
} # after the block

# at the end
`
	if diff := cmp.Diff(want, string(f.Bytes())); diff != "" {
		t.Error(diff)
	}
}

// TestInsertPositions checks where blocks are inserted, and which text is removed with a block.
func TestInsertPositions(t *testing.T) {
	t.Parallel()
	block := func(host string) string { return "provider \"" + host + "/a/b\" {\n  version = \"1.0.0\"\n}\n" }
	b := block("b.example")
	header := "# This file is maintained automatically by \"tofu init\".\n# Manual edits may be lost in future updates.\n"
	for name, test := range map[string]struct{ text, set, remove, want string }{
		"empty file":                           {text: "", set: "a.example", want: header + "\n" + block("a.example")},
		"after a byte order mark":              {text: "\xef\xbb\xbf\n", set: "a.example", want: "\xef\xbb\xbf" + header + "\n" + block("a.example")},
		"after a comment":                      {text: "# mine", set: "a.example", want: "# mine\n\n" + block("a.example")},
		"before the first":                     {text: header + "\n" + b, set: "a.example", want: header + "\n" + block("a.example") + "\n" + b},
		"only one, before the first":           {text: b, set: "a.example", want: block("a.example") + "\n" + b},
		"below the file's comment":             {text: header + b, set: "a.example", want: header + "\n" + block("a.example") + "\n" + b},
		"above a block's comment":              {text: header + "\n# of b\n" + b, set: "a.example", want: header + "\n" + block("a.example") + "\n# of b\n" + b},
		"after the last":                       {text: b, set: "c.example", want: b + "\n" + block("c.example")},
		"after a line without a newline":       {text: strings.TrimSpace(b), set: "c.example", want: b + "\n" + block("c.example")},
		"before a comment at the end":          {text: b + "# end\n", set: "c.example", want: b + "\n" + block("c.example") + "\n# end\n"},
		"between":                              {text: b + "\n# of d\n" + block("d.example"), set: "c.example", want: b + "\n" + block("c.example") + "\n# of d\n" + block("d.example")},
		"between without a blank line":         {text: b + block("d.example"), set: "c.example", want: b + "\n" + block("c.example") + "\n" + block("d.example")},
		"among unordered blocks":               {text: block("d.example") + "\n" + b, set: "c.example", want: block("c.example") + "\n" + block("d.example") + "\n" + b},
		"carriage returns":                     {text: crlf(b), set: "c.example", want: crlf(b + "\n" + block("c.example"))},
		"remove the only block":                {text: header + "\n" + b, remove: "b.example", want: header},
		"remove the first block":               {text: b + "\n" + block("c.example"), remove: "b.example", want: block("c.example")},
		"with its comment":                     {text: header + "\n# of b\n" + b + "\n# of c\n" + block("c.example"), remove: "b.example", want: header + "\n# of c\n" + block("c.example")},
		"without the comment of another block": {text: header + "\n# all\n\n" + b, remove: "b.example", want: header + "\n# all\n"},
		"next to a module":                     {text: "module \"m\" {} # m\n" + b + "module \"n\" {}\n", remove: "b.example", want: "module \"m\" {} # m\nmodule \"n\" {}\n"},
		"a missing block":                      {text: b, remove: "c.example", want: b},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := parse(t, test.text)
			if test.set != "" {
				f.Set(lockfile.Selection{Address: nouns.Address(t, test.set+"/a/b"), Version: nouns.Version(t, "1.0.0")})
			} else {
				f.Remove(nouns.Address(t, test.remove+"/a/b"))
			}
			if diff := cmp.Diff(test.want, string(f.Bytes())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func crlf(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") }

// TestCopies checks that the file doesn't share memory with callers.
func TestCopies(t *testing.T) {
	t.Parallel()
	var f lockfile.File
	hashes := []lockfile.Hash{"zh:b", "h1:a"}
	a := nouns.Address(t, "a/b")
	f.Set(lockfile.Selection{Address: a, Version: nouns.Version(t, "1.0.0"), Hashes: hashes})
	if hashes[0] != "zh:b" {
		t.Error("Set sorts the caller's hashes")
	}
	hashes[0], hashes[1] = "zh:x", "zh:x"
	f.Selections()[0].Hashes[0] = "zh:x"
	s, _ := f.Selection(a)
	s.Hashes[1] = "zh:x"
	s, _ = f.Selection(a)
	if diff := cmp.Diff([]lockfile.Hash{"h1:a", "zh:b"}, s.Hashes); diff != "" {
		t.Error(diff)
	}
	if s.Hashes[0].Scheme() != "h1" {
		t.Errorf("the scheme is %q", s.Hashes[0].Scheme())
	}
}

// TestSelectionString checks that String returns the block as it appears in a file.
func TestSelectionString(t *testing.T) {
	t.Parallel()
	s := lockfile.Selection{
		Address: nouns.Address(t, "acme/rocket"), Version: nouns.Version(t, "1.2.3"),
		Hashes: []lockfile.Hash{"zh:bb", "h1:aa=", "zh:bb"},
	}
	var f lockfile.File
	f.Set(s)
	if block := s.String(); !strings.HasSuffix(string(f.Bytes()), "\n\n"+block) || !strings.HasPrefix(block, "provider ") {
		t.Errorf("%s is not the end of\n%s", block, f.Bytes())
	}
}
