//go:build browser

package browser_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// shown is an expression that returns the number of providers that the list reports.
const shown = `document.getElementById("count").textContent.replace(/\s+/g, " ").trim()`

// TestFinding navigates from the first page to an SBOM with JavaScript enabled, partly
// by keyboard.
func TestFinding(t *testing.T) {
	t.Parallel()
	for _, l := range []look{phone, desk.in("dark")} {
		t.Run(l.String(), func(t *testing.T) {
			t.Parallel()
			b := open(t, world.site, l)
			// 1. Find the provider by typing.
			b.visit("/")
			b.checkPage()
			b.do(chromedp.SendKeys(chromedp.CSS("#q"), "rock"))
			b.until(shown + ` === "1 provider for rock"`)
			if at := b.location(); at != "/?search=rock" {
				t.Errorf("unexpected URL of the search: %s", at)
			}
			b.checkPage()
			b.do(chromedp.SendKeys(chromedp.CSS("#q"), "x"))
			b.until(shown + ` === "0 providers for rockx"`)
			b.do(chromedp.SendKeys(chromedp.CSS("#q"), kb.Backspace))
			b.until(shown + ` === "1 provider for rock"`)
			// 2. List the provider's versions, including the versions on the next page.
			b.follow("#results tbody a")
			b.checkPage()
			b.follow(`a[rel="next"]`)
			b.checkPage()
			b.follow(`a[rel="prev"]`)
			// 3. Open a version, and check its content and its copy buttons.
			b.follow(`a[href$="/` + newest + `"]`)
			b.checkPage()
			b.copies()
			// 4. Download the SBOM.
			b.downloadsSBOM(sbomLink)
		})
	}
}

// checkPage checks the properties that all pages must have.
func (b *tab) checkPage() {
	b.Helper()
	b.fits()
	b.accessible()
}

// copies opens the tabs with texts to copy, presses copy buttons, and checks the clipboard
// after each.
func (b *tab) copies() {
	b.Helper()
	for _, test := range []struct{ tab, name, want string }{
		{"use-1", "the requirement for OpenTofu", `(?s)^terraform \{\n.*source  = "acme/rocket"\n      version = "2.24.0"\n.*\}\n$`},
		{"use-1", "the CLI configuration for OpenTofu", `(?s)^provider_installation \{\n.*` + regexp.QuoteMeta(published+"/mirror/") + `.*\}\n$`},
		{"use-2", "the requirement for Terraform", `(?s)source  = "registry.opentofu.org/acme/rocket"\n`},
		{"use-3", "the lock file entry", `(?s)^provider "registry.opentofu.org/acme/rocket" \{\n  version = "2.24.0"\n.*    "zh:[0-9a-f]{64}",\n  \]\n\}\n$`},
		{"use-3", "zh of linux_amd64", `^zh:[0-9a-f]{64}$`},
	} {
		button := `[data-copy="` + test.name + `"] + button`
		b.do(chromedp.Click(chromedp.CSS(`label[for="`+test.tab+`"]`)), chromedp.Click(chromedp.CSS(button)))
		b.until(`document.querySelector('` + button + `').classList.contains("done")`)
		if got := eval[string](b, `navigator.clipboard.readText()`); !regexp.MustCompile(test.want).MatchString(got) {
			b.Errorf("%s: unexpected text %q", test.name, got)
		}
		if out := eval[string](b, `document.getElementById("said").textContent`); out != "Copied "+test.name {
			b.Errorf("unexpected text for screen readers: %q", out)
		}
	}
}

// isOneLine is an expression that reports whether every hash fills one line, with its last
// characters visible.
const isOneLine = `[...document.querySelectorAll(".hash")].every(e => e.getBoundingClientRect().height < 30 && e.scrollWidth <= e.clientWidth + 1)`

// TestLooks checks all pages on all screens, in light and dark themes.
func TestLooks(t *testing.T) {
	t.Parallel()
	for _, l := range []look{phone, phone.in("dark"), tablet, tablet.in("dark"), desk, desk.in("dark")} {
		t.Run(l.String(), func(t *testing.T) {
			t.Parallel()
			b := open(t, world.site, l)
			for _, path := range []string{
				"/", "/?show=recent", "/?show=pending", "/?show=held", rocketPage, rocketPage + "/" + newest, rocketPage + "/" + staged, brokenPage,
				"/modules", vpcPage, vpcPage + "/1.2.0",
			} {
				b.visit(path)
				b.checkPage()
				if !eval[bool](b, isOneLine) {
					b.Errorf("%s: a hash is wrapped or cut off", path)
				}
			}
		})
	}
}

// TestContent checks that the pages contain the information that users look for.
func TestContent(t *testing.T) {
	t.Parallel()
	b := open(t, world.site, desk)
	for path, wants := range map[string][]string{
		"/":                       {"Acme providers", "Reachable", "1 changed", "1 version", "grafana/grafana", "1 pending"},
		"/?show=pending":          {rocket, staged},
		"/?show=held":             {"cloudflare/cloudflare", "1.6.0", "can be mirrored on or after"},
		rocketPage:                {"tofu-oci promote 'registry.opentofu.org/acme/rocket@" + staged + "' --to '" + repositories + "'", "documents: checksums, signature"},
		rocketPage + "/" + staged: {"Pending approval", "tofu-oci promote", "key not pinned"},
		rocketPage + "/" + newest: {"Complete", "key not pinned", "Key"},
		brokenPage:                {"Problems", "To fix it:", "tofu-oci mirror"},
		vpcPage:                   {"module \"vpc\"", "1.2.0"},
		vpcPage + "/1.2.0":        {"Complete", "Manifest digest"},
	} {
		b.visit(path)
		text := eval[string](b, `document.body.innerText`)
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s: missing %q in\n%s", path, want, text)
			}
		}
	}
	b.visit(brokenPage)
	if first := eval[string](b, `document.querySelector("main h2").textContent`); first != "Problems" {
		t.Errorf("the page of a broken version starts with %q", first)
	}
}

// sbomLink selects the link to the SBOM on the newest version's page.
const sbomLink = `.packages td a[download][href*="/documents/"]`

// downloadsSBOM follows a link and checks that it downloads the SBOM.
func (b *tab) downloadsSBOM(selector string) {
	b.Helper()
	done := make(chan browser.EventDownloadProgress, 16)
	err := chromedp.ListenBrowser(b.ctx, func(event any) {
		if e, is := event.(*browser.EventDownloadProgress); is && e.State != browser.DownloadProgressStateInProgress {
			done <- *e
		}
	})
	b.check("listening to downloads", err)
	b.do(chromedp.Click(chromedp.CSS(selector)))
	<-done
	files, err := filepath.Glob(filepath.Join(b.downloads, "*"))
	if err != nil || len(files) != 1 {
		b.Fatalf("downloaded %q: %v", files, err)
	}
	got, err := os.ReadFile(files[0])
	b.check("reading what was downloaded", err)
	want, err := sbom()
	b.check("making an SBOM", err)
	if string(got) != string(want) || !strings.HasSuffix(files[0], ".spdx.json") {
		b.Errorf("downloaded %s with %d bytes, want %d", files[0], len(got), len(want))
	}
}

// TestWithoutScript checks that all pages work without JavaScript. Only conveniences
// require JavaScript.
func TestWithoutScript(t *testing.T) {
	t.Parallel()
	for _, l := range []look{phone.withoutScript(), desk.in("dark").withoutScript()} {
		t.Run(l.String(), func(t *testing.T) {
			t.Parallel()
			b := open(t, world.site, l)
			b.visit("/")
			b.fits()
			b.do(chromedp.SendKeys(chromedp.CSS("#q"), "rocket"))
			b.follow("form.search button")
			if at := b.location(); at != "/?search=rocket" {
				t.Errorf("unexpected target of the form: %s", at)
			}
			b.follow("#results tbody a")
			b.fits()
			b.follow(`a[href$="/` + newest + `"]`)
			b.fits()
			if n := eval[int](b, `document.querySelectorAll("button.copy").length`); n != 0 {
				t.Errorf("%d buttons have no effect", n)
			}
			if style := eval[string](b, `getComputedStyle(document.querySelector("pre")).userSelect`); style == "none" {
				t.Error("the text to copy cannot be selected")
			}
			b.downloadsSBOM(sbomLink)
		})
	}
}

// TestKeyboard checks that the first press of Tab focuses the skip link, and that the
// focus is visible.
func TestKeyboard(t *testing.T) {
	t.Parallel()
	b := open(t, world.site, desk)
	b.visit(rocketPage)
	b.do(chromedp.KeyEvent(kb.Tab))
	const focused = `(e => e.textContent + " " + e.getBoundingClientRect().left)(document.activeElement)`
	if got := eval[string](b, focused); got != "Skip to content 0" {
		t.Errorf("unexpected focus after the first key: %q", got)
	}
	b.do(chromedp.KeyEvent(kb.Enter))
	b.until(`document.activeElement.id === "main"`)
	b.do(chromedp.KeyEvent(kb.Tab))
	if got := eval[string](b, `document.activeElement.textContent`); got != "Providers" {
		t.Errorf("unexpected focus after the next key: %q", got)
	}
	if got := eval[string](b, `getComputedStyle(document.activeElement).outlineStyle`); got != "solid" {
		t.Errorf("the focus is not visible: %s", got)
	}
}

// pressSlash presses "/" and waits until the search field has the focus. It sends only the
// first event of the key, because Chromium's protocol types the character even if the page
// prevents that.
func (b *tab) pressSlash() {
	b.Helper()
	b.until(`document.querySelector(".search kbd") !== null`)
	eval[bool](b, `document.dispatchEvent(new KeyboardEvent("keydown", {key: "/"}))`)
	b.until(`document.activeElement.id === "q"`)
}

// TestKeyboardSearch finds a provider with the keyboard only.
func TestKeyboardSearch(t *testing.T) {
	t.Parallel()
	b := open(t, world.site, desk)
	b.visit("/")
	b.pressSlash()
	b.do(chromedp.KeyEvent("part1"))
	b.until(shown + ` === "10 providers for part1"`)
	b.do(chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowUp))
	b.until(`document.activeElement.textContent === "parts/part10"`)
	b.do(chromedp.KeyEvent(kb.ArrowUp))
	b.until(`document.activeElement.id === "q"`)
	b.do(chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.Enter))
	b.until(`location.pathname.endsWith("/parts/part10")`)
	b.pressSlash()
	b.do(chromedp.KeyEvent("rocket"), chromedp.KeyEvent(kb.Enter)) // a page without a list
	b.until(`location.search === "?search=rocket"`)
}
