//go:build browser

package browser_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

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
	for _, l := range []look{phone, phone.in("dark"), desk, desk.in("dark")} {
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
			b.follow("#results li a")
			b.checkPage()
			b.follow(`a[rel="next"]`)
			b.checkPage()
			b.follow(`a[rel="prev"]`)
			// 3. Open a version, and check its content and its copy buttons.
			b.follow(`a[href$="/` + newest + `"]`)
			b.checkPage()
			b.copies()
			// 4. Open the SBOM as a list, and download it as a file.
			b.follow(`a[href*="/components/"]`)
			b.checkPage()
			b.downloadsSBOM(`a[download]`)
		})
	}
}

// checkPage checks the properties that all pages must have.
func (b *tab) checkPage() {
	b.Helper()
	b.fits()
	b.accessible()
}

// copies presses all copy buttons and checks the clipboard after each.
func (b *tab) copies() {
	b.Helper()
	for selector, want := range map[string]string{
		`[data-copy="the lock file entry"]`:   `(?s)^provider "registry.opentofu.org/acme/rocket" \{\n  version = "2.24.0"\n.*    "zh:[0-9a-f]{64}",\n  \]\n\}\n$`,
		`[data-copy="the CLI configuration"]`: `(?s)^provider_installation \{\n.*` + regexp.QuoteMeta(published+"/mirror/") + `.*\}\n$`,
		`[data-copy="the requirement"]`:       `(?s)^terraform \{\n.*source  = "acme/rocket"\n      version = "2.24.0"\n.*\}\n$`,
		`[data-copy="zh of linux_amd64"]`:     `^zh:[0-9a-f]{64}$`,
	} {
		b.do(chromedp.Click(chromedp.CSS(selector + " + button")))
		b.until(`document.querySelector('` + selector + ` + button').textContent === "Copied"`)
		if got := eval[string](b, `navigator.clipboard.readText()`); !regexp.MustCompile(want).MatchString(got) {
			b.Errorf("%s: unexpected text %q", selector, got)
		}
		if out := eval[string](b, `document.getElementById("said").textContent`); !strings.HasPrefix(out, "Copied ") {
			b.Errorf("unexpected text for screen readers: %q", out)
		}
	}
}

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
	select {
	case <-done:
	case <-time.After(patience):
		b.Fatal("no file was downloaded")
	}
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
			b.follow("#results li a")
			b.fits()
			b.follow(`a[href$="/` + newest + `"]`)
			b.fits()
			if n := eval[int](b, `document.querySelectorAll("button.copy").length`); n != 0 {
				t.Errorf("%d buttons have no effect", n)
			}
			if style := eval[string](b, `getComputedStyle(document.querySelector("pre")).userSelect`); style == "none" {
				t.Error("the text to copy cannot be selected")
			}
			b.follow(`a[href*="/components/"]`)
			b.fits()
			b.follow(`a[rel="next"]`)
			b.fits()
			b.downloadsSBOM(`a[download]`)
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
