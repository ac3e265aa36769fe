package page_test

import (
	"fmt"
	"html"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/finding"
	"github.com/tofu-oci/tofu-oci/internal/serve/api"
	"github.com/tofu-oci/tofu-oci/internal/serve/page"
)

// maxPage is the maximum size of a page in bytes.
const maxPage = 60_000

var frame = page.Frame{Site: "Acme registry", Root: "/tofu", Caller: "ci", Login: true, Modules: true, Now: day.AddDate(0, 0, 3)}

// pages renders all pages.
func pages(tb testing.TB, f page.Frame, search string, h page.Home, p page.Provider, v page.Version) map[string]string {
	tb.Helper()
	all := map[string]string{}
	add := func(name string, text []byte, err error) {
		tb.Helper()
		if err != nil {
			tb.Errorf("%s: %v", name, err)
		}
		all[name] = string(text)
	}
	h.Search = search
	text, err := f.Home(h, page.Pagination{Page: 2, Pages: 3})
	add("home", text, err)
	for _, h.Show = range []string{page.ShowRecent, page.ShowPending, page.ShowHeld} {
		h.Providers = nil
		text, err = f.Home(h, page.Pagination{Page: 2, Pages: 3})
		add(h.Show, text, err)
	}
	text, err = f.Provider(p, page.Pagination{Page: 2, Pages: 3})
	add("provider", text, err)
	text, err = f.Version(v, 1)
	add("version", text, err)
	text, err = f.ModuleList(search, modules(p), page.Pagination{Page: 2, Pages: 3})
	add("modules", text, err)
	m := moduleOf(p)
	text, err = f.Module(m, page.Pagination{Page: 2, Pages: 3})
	add("module", text, err)
	text, err = f.ModuleVersion(moduleVersion(m, v))
	add("module version", text, err)
	text, err = f.Problem(404, search)
	add("problem", text, err)
	return all
}

// TestPages checks the content of pages.
func TestPages(t *testing.T) {
	t.Parallel()
	v := version(15)
	v.Status, v.Findings = api.StatusIncomplete, []finding.Finding{{Severity: finding.Error, Code: "lost-blob", Subject: finding.Subject{Platform: "haiku0_riscv64"}, Message: "the archive is missing", Remedy: finding.Remedy{Hint: "mirror it again", Command: "tofu-oci mirror x"}}}
	p := versions(60)
	p.Latest, p.Lock, p.Waiting, p.Held = "1.60.0", v.Lock, []page.PendingVersion{pending("2.0.0")}, []page.ListedVersion{listed("rocket")}
	p.Versions[1].Status, p.Versions[1].Problem = api.StatusBroken, "missing index"
	got := pages(t, frame, "rock & roll", home(50), p, v)
	for name, wants := range map[string][]string{
		"home": {
			`value="rock &amp; roll"`, "50 providers for <bdi>rock &amp; roll</bdi>", `href="/tofu/providers/registry.example.com/acme/rocket49"`,
			`href="?page=3&amp;search=rock`, "Page 2 of 3", `Logged in as </span><bdi>ci</bdi>`, `action="/tofu/"`, `href="/tofu/api/v1/providers"`,
			"<bdi>Acme registry</bdi>", ">Reachable<", "2 hours ago", "3 changed", "1 failed", "2 versions", "1 pending", "3 days ago", `href="/tofu/?show=held"`,
		},
		page.ShowHeld: {"younger than 7d", `aria-current="page">Held back`, `href="/tofu/providers/registry.example.com/acme/rocket0/1.2.0"`, "show=held"},
		"provider": {
			`<time datetime="2026-03-01T12:00:00Z">2026-03-01</time>`, "3 on darwin, haiku, linux", "123.5 MB", ">Broken<", "missing index",
			"Pending approval", `href="/tofu/providers/registry.example.com/acme/rocket/1.60.0"`, "https://tofu.example.com/mirror/", `href="?page=3"`,
			"tofu-oci promote &#39;acme/rocket@2.0.0&#39;", "documents: checksums, signature", "younger than 7d", ">Terraform<", "Lock entry", "~/.terraformrc",
		},
		"version": {
			"zh:0123456789abcdef", "h1:47DEQpj8HBSa&#43;/", "/documents/sha256:" + hexDigits + `" download>SBOM</a>`, "provider &#34;registry.example.com/acme/rocket&#34;",
			"Acme Releases &lt;releases@acme.example&gt;", "AB12AB12", "Signed, trusted key", "the archive is missing", "mirror it again", "tofu-oci mirror x", "Page 1 of 2", "provenance.intoto.jsonl", "5.0, 6.0",
			"source  = &#34;registry.example.com/acme/rocket&#34;",
		},
		"modules":        {`value="rock &amp; roll"`, "50 modules", `href="/tofu/modules/registry.example.com/acme/rocket/aws"`, `href="/tofu/api/v1/modules"`, "Page 2 of 3"},
		"module":         {"git::https://git.example.com/rocket", "123abc", "1.2 kB", ">1.60.0<", `href="/tofu/api/v1/modules/registry.example.com/acme/rocket/aws"`, "https://tofu.example.com/mirror/", "oci://ghcr.io/acme/mirror/rocket?tag=1.60.0", `href="/tofu/modules/registry.example.com/acme/rocket/aws/1.60.0"`},
		"module version": {"acme/rocket/aws", ">Incomplete<", "the archive is missing", "oci://ghcr.io/acme/mirror/rocket//1.2.0?tag=1.2.0", "89abcdef</code>", `href="/tofu/modules/registry.example.com/acme/rocket/aws"`},
		"problem":        {"Not Found", "rock &amp; roll"},
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
	if text := got["version"]; strings.Index(text, "the archive is missing") > strings.Index(text, `id="use"`) || strings.Index(text, `id="packages"`) > strings.Index(text, `id="details"`) {
		t.Error("the version page does not start with problems, or shows details before packages")
	}
}

// TestEmptyPages checks the messages on empty pages.
func TestEmptyPages(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		frame page.Frame
		home  page.Home
		want  string
	}{
		"nothing":        {page.Frame{}, page.Home{}, "No providers yet."},
		"nothing public": {page.Frame{Login: true}, page.Home{}, "No providers yet, or none that you can read."},
		"nothing found":  {page.Frame{}, page.Home{Search: "rocket"}, "No matching providers."},
		"no versions":    {page.Frame{}, page.Home{Show: page.ShowRecent}, "No versions."},
		"no result":      {page.Frame{}, page.Home{Sync: &page.Sync{}}, "Its result can't be read"},
	} {
		got, err := test.frame.Home(test.home, page.Pagination{})
		if err != nil || !strings.Contains(string(got), test.want) {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
		for _, hidden := range []string{"Pending approval", "Held back"} {
			if strings.Contains(string(got), hidden) {
				t.Errorf("%s: contains %q", name, hidden)
			}
		}
	}
	got, err := frame.Version(page.Version{}, 1)
	if err != nil || !strings.Contains(string(got), "The signature was not verified.") || !strings.Contains(string(got), "No problems found") {
		t.Errorf("%v\n%s", err, got)
	}
}

// hostile is text with a special meaning in each context of a page.
const hostile = "\"'><script>alert(1)</script>\u202E\x00javascript:alert(1)&<!--</title></textarea>"

// TestHostileFields checks that every field is escaped.
func TestHostileFields(t *testing.T) {
	t.Parallel()
	v, p, h := version(2), versions(2), home(2)
	p.Waiting, p.Held = []page.PendingVersion{pending("2.0.0")}, []page.ListedVersion{listed("rocket")}
	clean := pages(t, frame, "x", h, p, v)
	v.Findings, v.Signature.Warning, v.Signature.Refused = make([]finding.Finding, 1), "x", "x"
	h.Warnings, v.Promote = []string{""}, "x"
	for _, response := range []any{&v, &p, &h} {
		fill(reflect.ValueOf(response).Elem(), hostile)
	}
	v.Lock, v.Requirement = hostile, hostile // these fields have the length of a code block
	for name, text := range pages(t, page.Frame{Caller: hostile, Site: hostile}, hostile, h, p, v) {
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
		v.Documents, v.Referrers = append(v.Documents, document), append(v.Referrers, document)
		v.Findings = append(v.Findings, finding.Finding{Severity: finding.Severity(long), Code: long, Message: long, Remedy: finding.Remedy{Hint: long, Command: long}})
		v.Protocols = append(v.Protocols, long)
	}
	v.Problem, v.Signature.Verdict, v.Signature.Text, v.Signature.Refused = long, long, long, long
	v.Signature.Fingerprint, v.Signature.Warning = long, long
	v.Lock = strings.Repeat("a", 4<<10)
	p, h := versions(20), home(50) // the server shows up to 20 versions on a page
	for i := range p.Versions {
		p.Versions[i].Problem, p.Versions[i].Status, p.Versions[i].Platforms = long, long, []string{long, long}
		waiting := pending("2.0.0")
		waiting.Problem = long
		p.Waiting, p.Held = append(p.Waiting, waiting), append(p.Held, page.ListedVersion{Version: long, Reason: long})
	}
	for i := range h.Providers {
		h.Providers[i].Host, h.Providers[i].Latest = strings.Repeat("a", 200), long
		h.Versions[i].Name, h.Versions[i].Host, h.Versions[i].Version, h.Versions[i].Reason = long, long, long, long
	}
	p.Denied = p.Versions
	for name, text := range pages(t, frame, long, h, p, v) {
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
	response := page.Home{Providers: []page.Provided{{ProviderRef: api.ProviderRef{Host: "registry.example.com", Namespace: "acme", Type: "rocket"}}}, Total: 1}
	text, err := page.Frame{Root: "/tofu"}.Home(response, page.Pagination{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(regexp.MustCompile(`<a href="/tofu/providers[^\n]*</a>`).FindString(string(text)))
	// Output: <a href="/tofu/providers/registry.example.com/acme/rocket"><bdi>acme/<strong>rocket</strong></bdi></a>
}
