package page_test

import (
	"fmt"
	"html"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/serve/api"
	"github.com/tofu-oci/tofu-oci/internal/serve/page"
	"github.com/tofu-oci/tofu-oci/pkg/finding"
)

// maxPage is the maximum size of a page in bytes.
const maxPage = 50_000

var frame = page.Frame{Root: "/tofu", Caller: "ci", Login: true}

// pages renders all pages.
func pages(tb testing.TB, f page.Frame, search string, ps api.Providers, p api.Provider, v api.Version, s api.SBOM) map[string]string {
	tb.Helper()
	all := map[string]string{}
	add := func(name string, text []byte, err error) {
		tb.Helper()
		if err != nil {
			tb.Errorf("%s: %v", name, err)
		}
		all[name] = string(text)
	}
	text, err := f.Providers(search, ps, page.Pagination{Page: 2, Pages: 3})
	add("providers", text, err)
	text, err = f.Provider(p, page.Pagination{Page: 2, Pages: 3})
	add("provider", text, err)
	text, err = f.Version(v, 1)
	add("version", text, err)
	text, err = f.Components(v, v.Packages[0].Documents[0], s, 1)
	add("components", text, err)
	text, err = f.ModuleList(search, modules(ps), page.Pagination{Page: 2, Pages: 3})
	add("modules", text, err)
	text, err = f.Module(moduleOf(p), page.Pagination{Page: 2, Pages: 3})
	add("module", text, err)
	text, err = f.Problem(404, search)
	add("problem", text, err)
	return all
}

// TestPages checks the content of pages.
func TestPages(t *testing.T) {
	t.Parallel()
	v := version(15)
	v.Findings = []finding.Finding{{Severity: finding.Error, Code: "lost-blob", Subject: finding.Subject{Platform: "haiku0_riscv64"}, Message: "the archive is missing", Remedy: finding.Remedy{Hint: "mirror it again"}}}
	p := versions(60)
	p.Pending = []api.VersionRef{{Version: "2.0.0", Status: api.StatusPending}}
	p.Versions[1].Status, p.Versions[1].Problem = api.StatusBroken, "missing index"
	got := pages(t, frame, "rock & roll", providers(50), p, v, sbom(120))
	for name, wants := range map[string][]string{
		"providers": {
			`value="rock &amp; roll"`, "50 providers for <bdi>rock &amp; roll</bdi>", `href="/tofu/providers/registry.example.com/acme/rocket49"`,
			`href="?page=3&amp;search=rock`, "Page 2 of 3", "Logged in as <bdi>ci</bdi>", `action="/tofu/"`, `href="/tofu/api/v1/providers"`,
		},
		"provider": {
			`<time datetime="2026-03-01T12:00:00Z">2026-03-01</time>`, "3 on darwin, haiku, linux", "123.5 MB", ">broken<", "missing index",
			"Pending approval", `href="/tofu/providers/registry.example.com/acme/rocket/1.60.0"`, "https://tofu.example.com/mirror/", `href="?page=3"`,
		},
		"version": {
			"zh:0123456789abcdef", "h1:47DEQpj8HBSa&#43;/", "SBOM</a>", "rocket/1.2.0/components/sha256:0123456789abcdef", "provider &#34;registry.example.com/acme/rocket&#34;",
			"signed by a key", "AB12AB12", "the archive is missing", "mirror it again", "Page 1 of 2", "provenance.intoto.jsonl", "5.0, 6.0",
		},
		"components": {"120 components", "github.com/acme/part49", "SPDX 2.3", "pkg:golang/github.com/acme/part49@v1.0.0", "Page 1 of 3"},
		"modules":    {`value="rock &amp; roll"`, "50 modules", `href="/tofu/modules/registry.example.com/acme/rocket/aws"`, `href="/tofu/api/v1/modules"`, "Page 2 of 3"},
		"module":     {"git::https://git.example.com/rocket", "0123abc", "1.2 kB", ">1.60.0<", `href="/tofu/api/v1/modules/registry.example.com/acme/rocket/aws"`, "https://tofu.example.com/mirror/"},
		"problem":    {"Not Found", "rock &amp; roll"},
	} {
		for _, want := range wants {
			if !strings.Contains(got[name], want) {
				t.Errorf("%s: missing %q", name, want)
			}
		}
		if strings.Contains(got[name], "ZgotmplZ") || strings.Contains(got[name], "<no value>") {
			t.Errorf("%s contains a template error", name)
		}
		if len(got[name]) > maxPage {
			t.Errorf("%s has %d bytes", name, len(got[name]))
		}
	}
}

// TestEmptyPages checks the messages on empty pages.
func TestEmptyPages(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		frame  page.Frame
		search string
		want   string
	}{
		"nothing":        {page.Frame{}, "", "No providers yet."},
		"nothing public": {page.Frame{Login: true}, "", "No providers yet, or none that you can read."},
		"nothing found":  {page.Frame{}, "rocket", "No matching providers."},
	} {
		got, err := test.frame.Providers(test.search, api.Providers{}, page.Pagination{})
		if err != nil || !strings.Contains(string(got), test.want) {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
	got, err := frame.Version(api.Version{}, 1)
	if err != nil || !strings.Contains(string(got), "The signature was not verified.") || !strings.Contains(string(got), "No problems found") {
		t.Errorf("%v\n%s", err, got)
	}
}

// hostile is text with a special meaning in each context of a page.
const hostile = "\"'><script>alert(1)</script>\u202E\x00javascript:alert(1)&<!--</title></textarea>"

// TestHostileFields checks that every field is escaped.
func TestHostileFields(t *testing.T) {
	t.Parallel()
	v, p, ps, s := version(2), versions(2), providers(2), sbom(2)
	v.Findings, v.Verdict.Warnings, v.Verdict.Refused = make([]finding.Finding, 1), []string{""}, "x"
	p.Pending, ps.Warnings = p.Versions[:1], []string{""}
	for _, response := range []any{&v, &p, &ps, &s} {
		fill(reflect.ValueOf(response).Elem(), hostile)
	}
	v.Lock, v.Requirement = hostile, hostile // these fields have the length of a code block
	clean := pages(t, frame, "x", providers(2), versions(2), version(2), sbom(2))
	for name, text := range pages(t, page.Frame{Caller: hostile}, hostile, ps, p, v, s) {
		for _, mark := range []string{"<script>", "<!--", "\u202E", "\x00", `href="javascript:`, "</title></textarea>"} {
			if strings.Contains(text, mark) {
				t.Errorf("%s contains %q", name, mark)
			}
		}
		for _, tag := range tags.FindAllString(text, -1) {
			if strings.Contains(tag, "script>") && !strings.Contains(clean[name], tag) {
				t.Errorf("%s has the tag %s", name, tag)
			}
		}
		if got, want := strings.Count(text, "<script"), strings.Count(clean[name], "<script"); got != want {
			t.Errorf("%s has %d scripts, want %d", name, got, want)
		}
	}
}

var tags = regexp.MustCompile(`<[^>]*>`)

// fill sets all strings in a value.
func fill(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Pointer:
		if !v.IsNil() && v.Type() != reflect.TypeFor[*bool]() && v.Elem().Type().Name() != "Time" {
			fill(v.Elem(), text)
		}
	case reflect.Slice:
		for i := range v.Len() {
			fill(v.Index(i), text)
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			if field.CanSet() {
				fill(field, text)
			}
		}
	}
}

// TestPageSize checks that pages are small even if all strings and lists are long.
func TestPageSize(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("<'\u202E\u0301", 1<<18)
	v := version(200)
	document := v.Packages[0].Documents[0]
	document.Name, document.Kind, document.MediaType = long, long, long
	for i := range v.Packages {
		v.Packages[i].Documents = nil
		for range 50 {
			v.Packages[i].Documents = append(v.Packages[i].Documents, document)
		}
	}
	for range 100 {
		v.Evidence, v.Referrers = append(v.Evidence, document), append(v.Referrers, document)
		v.Findings = append(v.Findings, finding.Finding{Severity: finding.Severity(long), Code: long, Message: long, Remedy: finding.Remedy{Hint: long, Command: long}})
		v.Protocols, v.Verdict.Warnings = append(v.Protocols, long), append(v.Verdict.Warnings, long)
		v.Verdict.Keys = append(v.Verdict.Keys, long)
	}
	v.Problem, v.Verdict.State, v.Verdict.Text, v.Verdict.Refused = long, long, long, long
	v.Lock = strings.Repeat("a", 4<<10)
	p, ps, s := versions(50), providers(50), sbom(5000)
	for i := range p.Versions {
		p.Versions[i].Problem, p.Versions[i].Status, p.Versions[i].Platforms = long, long, []string{long, long}
	}
	p.Pending = p.Versions
	for i := range s.Components {
		s.Components[i] = api.Component{Name: long, Version: long, License: long, PURL: long}
	}
	for name, text := range pages(t, frame, long, ps, p, v, s) {
		if t.Logf("%s has at most %d bytes", name, len(text)); len(text) > maxPage {
			t.Errorf("%s has %d bytes", name, len(text))
		}
	}
}

// TestVisible documents how untrusted text is displayed.
func TestVisible(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text  string
		limit int
		want  string
	}{
		"a word":                {"acme/rocket", 100, "acme/rocket"},
		"other scripts":         {"プロバイダー שלום", 100, "プロバイダー שלום"},
		"markup":                {"<b>&amp;", 100, "<b>&amp;"},
		"a NUL":                 {"a\x00b", 100, "a␀b"},
		"line breaks and a tab": {"a\r\n\tb", 100, "a␍␊␉b"},
		"an escape sequence":    {"\x1b[2J\u009b", 100, "␛[2J[U+009B]"},
		"writing direction":     {"gpj.\u202Egpj", 100, "gpj.[U+202E]gpj"},
		"isolates":              {"\u2066a\u2069", 100, "[U+2066]a[U+2069]"},
		"zero width":            {"ac\u200Bme\uFEFF\u00AD", 100, "ac[U+200B]me[U+FEFF][U+00AD]"},
		"blank letters":         {"a\u3164b\u115F", 100, "a[U+3164]b[U+115F]"},
		"tags":                  {"\U000E0041", 100, "[U+E0041]"},
		"variation selectors":   {"a\uFE0F", 100, "a[U+FE0F]"},
		"private use":           {"\uE000", 100, "[U+E000]"},
		"line separators":       {"a\u2028b\u2029", 100, "a[U+2028]b[U+2029]"},
		"no text":               {"a\xff\xfeb", 100, "a\uFFFD\uFFFDb"},
		"marks":                 {"e\u0301\u0302", 100, "e\u0301\u0302"},
		"many marks":            {"e" + strings.Repeat("\u0301", 20) + "f", 100, "e\u0301\u0301\u0301\u0301[marks]f"},
		"leading mark":          {"\u0301a", 100, "\u25CC\u0301a"},
		"long":                  {"abcdefghij", 5, "abcde… (10 bytes)"},
		"long when escaped":     {"''''", 11, "''… (4 bytes)"},
		"a megabyte":            {strings.Repeat("a", 1<<20), 3, "aaa… (1.0 MB)"},
		"a megabyte of marks":   {strings.Repeat("\u0301", 1<<20), 60, "\u25CC\u0301\u0301\u0301\u0301[marks]… (2.1 MB)"},
	} {
		if got := page.Visible(test.text, test.limit); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

// FuzzVisible checks that the escaped result is short.
func FuzzVisible(f *testing.F) {
	f.Add("acme/rocket")
	f.Add(hostile)
	f.Add("e\u0301\u0301\u0301\u0301\u0301\u0301")
	f.Fuzz(func(t *testing.T, text string) {
		const limit = 50
		got := page.Visible(text, limit)
		if escaped := strings.ReplaceAll(html.EscapeString(got), "+", "&#43;"); len(escaped) > limit+len("… (1024 bytes)") && len(text) < 1000 {
			t.Errorf("%q has %d bytes", got, len(escaped))
		}
		if strings.ContainsAny(got, "\x00\n\r\t\u202E") {
			t.Errorf("got %q", got)
		}
	})
}

// TestPaging checks that the page number is limited to existing pages.
func TestPaging(t *testing.T) {
	t.Parallel()
	v := version(30)
	for _, test := range []struct {
		page    int
		current string
		has     string
	}{{-1, "Page 1 of 3", "haiku0_"}, {2, "Page 2 of 3", "haiku14_"}, {3, "Page 3 of 3", "haiku29_"}, {1 << 40, "Page 3 of 3", "haiku28_"}} {
		text, err := frame.Version(v, test.page)
		if err != nil || !strings.Contains(string(text), test.current) || !strings.Contains(string(text), test.has) {
			t.Errorf("%d: %v, no %s or %s", test.page, err, test.current, test.has)
		}
	}
}

// TestAssets checks that all links to assets work, and that every asset is linked.
func TestAssets(t *testing.T) {
	t.Parallel()
	text, err := frame.Problem(404, "x")
	if err != nil {
		t.Fatal(err)
	}
	linked := regexp.MustCompile(`(?:href|src)="/tofu/static/`+page.Hash()+`/([^"]+)"`).FindAllStringSubmatch(string(text), -1)
	if len(linked) < 3 {
		t.Errorf("got %q", linked)
	}
	for _, link := range linked {
		asset, found := page.OpenAsset(link[1])
		if !found || len(asset.Content) == 0 || len(asset.Content) > maxPage || asset.MediaType == "" {
			t.Errorf("%s: %v %s, %d bytes", link[1], found, asset.MediaType, len(asset.Content))
		}
		if strings.Contains(string(asset.Content), "://") && link[1] != "icon.svg" {
			t.Errorf("%s contains another host", link[1])
		}
	}
	for _, name := range []string{"", "none.css", "../page.go", "page.html"} {
		if _, found := page.OpenAsset(name); found {
			t.Errorf("%q exists", name)
		}
	}
}

func Example() {
	response := api.Providers{Providers: []api.ProviderRef{{Host: "registry.example.com", Namespace: "acme", Type: "rocket"}}, Total: 1}
	text, err := page.Frame{Root: "/tofu"}.Providers("", response, page.Pagination{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(regexp.MustCompile(`<a href="/tofu/providers.*`).FindString(string(text)))
	// Output: <a href="/tofu/providers/registry.example.com/acme/rocket"><bdi>acme/<strong>rocket</strong></bdi></a>
}
