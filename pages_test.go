package tofuoci_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

var namedFile = regexp.MustCompile("`((?:cmd|pkg|internal)/[a-z/_-]+(?:\\.go)?)[^`]*`")

// TestArchitecturePage checks that all packages and files on docs/architecture.md exist. See
// also [TestImportDirections].
func TestArchitecturePage(t *testing.T) {
	t.Parallel()
	for _, named := range namedFile.FindAllStringSubmatch(read(t, filepath.Join("docs", "architecture.md")), -1) {
		if _, err := os.Stat(filepath.FromSlash(named[1])); err != nil {
			t.Error(err)
		}
	}
}

var (
	link    = regexp.MustCompile(`\]\(([^)#: ]*)(?:#([^)]*))?\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	fence   = regexp.MustCompile("(?s)\n *```.*?\n *```\n")
	// unheard matches the characters that GitHub removes from the anchors of headings.
	unheard = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestLinks checks that links to files and headings in this repository are valid.
func TestLinks(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob(filepath.Join("docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	actions, err := filepath.Glob(filepath.Join("action", "*", "README.md"))
	if err != nil || len(actions) == 0 {
		t.Fatalf("%d pages of actions, %v", len(actions), err)
	}
	for _, page := range append(append(pages, actions...), "README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "ROADMAP.md", "MAINTAINERS.md", "CODE_OF_CONDUCT.md") {
		for _, match := range link.FindAllStringSubmatch(read(t, page), -1) {
			to := page
			if match[1] != "" {
				to = filepath.Join(filepath.Dir(page), filepath.FromSlash(match[1]))
			}
			if _, err := os.Stat(to); errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s links to %s, which is not there", page, match[1])
				continue
			}
			if strings.HasSuffix(to, ".md") && match[2] != "" && !slices.Contains(anchors(t, to), match[2]) {
				t.Errorf("%s links to the heading %s of %s, which is not there", page, match[2], to)
			}
		}
	}
}

// anchors returns the anchors of a page's headings.
func anchors(t *testing.T, page string) (all []string) {
	t.Helper()
	for _, match := range heading.FindAllStringSubmatch(fence.ReplaceAllString(read(t, page), "\n"), -1) {
		text := unheard.ReplaceAllString(strings.ToLower(strings.TrimSpace(match[1])), "")
		all = append(all, strings.ReplaceAll(text, " ", "-"))
	}
	return all
}

// TestIssueForms checks that each issue form has a description, and fields with
// different IDs.
func TestIssueForms(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob(filepath.Join(".github", "ISSUE_TEMPLATE", "*.yml"))
	if err != nil || len(paths) < 3 {
		t.Fatalf("%d forms, %v", len(paths), err)
	}
	for _, path := range paths {
		if filepath.Base(path) == "config.yml" {
			continue
		}
		var form struct {
			Name, Description string
			Labels            []string
			Body              []struct {
				Type, ID    string
				Attributes  struct{ Label, Description, Render string }
				Validations struct{ Required bool }
			}
		}
		decoder := yaml.NewDecoder(strings.NewReader(read(t, path)))
		decoder.KnownFields(true)
		if err := decoder.Decode(&form); err != nil || form.Name == "" || form.Description == "" || len(form.Body) == 0 {
			t.Errorf("%s: %+v, %v", path, form, err)
		}
		ids := map[string]bool{}
		for _, field := range form.Body {
			if ids[field.ID] || field.ID == "" || field.Attributes.Label == "" || field.Type != "input" && field.Type != "textarea" {
				t.Errorf("%s: unexpected field %+v", path, field)
			}
			ids[field.ID] = true
		}
	}
}
