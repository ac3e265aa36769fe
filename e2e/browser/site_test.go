//go:build browser

package browser_test

import (
	"bytes"
	"compress/gzip"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// siteBase is the path of the documentation site below its host.
const siteBase = "/tofu-oci/"

// maxPage is the maximum size of a page with its style sheet and script as transferred,
// which means compressed, in bytes.
const maxPage = 150_000

// TestSite opens each page of the documentation site, and checks its accessibility, its
// width on three screens, its size, and all links to pages and sections of the site.
func TestSite(t *testing.T) {
	t.Parallel()
	files, host := serveSite(t, filepath.Join(os.Getenv("ROOT"), "bin", "site"))
	b := open(t, host, look{width: 1280, height: 900, theme: "light", script: true})
	var pages []string
	ids := map[string][]string{}
	links := map[string][]string{}
	for name := range files {
		if strings.HasSuffix(name, ".html") {
			pages = append(pages, name)
		}
	}
	slices.Sort(pages)
	if len(pages) < 20 {
		t.Fatalf("only %d pages: %v", len(pages), pages)
	}
	for _, name := range pages {
		b.visit(siteBase + name)
		ids[name] = eval[[]string](b, `[...document.querySelectorAll("[id]")].map(e => e.id)`)
		links[name] = eval[[]string](b, `[...document.querySelectorAll("a, img, link, script")].map(e => e.href || e.src).filter(u => u)`)
		size := files[name]
		for _, u := range links[name] {
			if asset := strings.TrimPrefix(u, host+siteBase); strings.HasPrefix(asset, "site.") {
				size += files[asset]
			}
		}
		if size > maxPage {
			t.Errorf("%s has %d bytes, want at most %d", name, size, maxPage)
		}
		for _, l := range []look{
			{width: 360, height: 800, theme: "dark", script: true}, {width: 768, height: 1024, theme: "light", script: true},
			{width: 1280, height: 900, theme: "dark", script: true}, {width: 1280, height: 900, theme: "light", script: true},
		} {
			b.see(l)
			b.fits()
			if l.width != 768 {
				b.accessible()
			}
		}
	}
	for _, name := range pages {
		for _, link := range links[name] {
			u, err := url.Parse(link)
			if err != nil {
				t.Errorf("%s contains an invalid link: %v", name, err)
				continue
			}
			if u.Scheme+"://"+u.Host != host {
				continue
			}
			target := strings.TrimPrefix(u.Path, siteBase)
			if target == "" || strings.HasSuffix(target, "/") {
				target += "index.html"
			}
			if _, ok := files[target]; !ok {
				t.Errorf("%s links to %s, which doesn't exist", name, u.Path)
			} else if u.Fragment != "" && !slices.Contains(ids[target], u.Fragment) {
				t.Errorf("%s links to the section %s of %s, which doesn't exist", name, u.Fragment, target)
			}
		}
	}
}

// TestSiteSearch searches the documentation by keyboard, copies a command, and selects
// the dark mode.
func TestSiteSearch(t *testing.T) {
	t.Parallel()
	_, host := serveSite(t, filepath.Join(os.Getenv("ROOT"), "bin", "site"))
	b := open(t, host, look{width: 768, height: 1024, theme: "light", script: true})
	b.visit(siteBase + "docs/sync.html")
	b.do(chromedp.KeyEvent("/"), chromedp.SendKeys(chromedp.CSS(".find input"), "lock file"))
	b.until(`document.querySelectorAll(".find ol a").length > 0`)
	b.accessible()
	b.follow(".find ol a")
	b.do(chromedp.Click(chromedp.CSS("main .copy")))
	b.until(`document.querySelector("main .copy").textContent === "Copied"`)
	b.do(chromedp.Click(chromedp.CSS("header .theme")))
	b.visit(siteBase)
	if theme := eval[string](b, `document.documentElement.dataset.theme`); theme != "dark" {
		t.Errorf("the theme of the next page is %q, want dark", theme)
	}
}

// TestSiteTabs selects tabs by link and by keyboard.
func TestSiteTabs(t *testing.T) {
	t.Parallel()
	_, host := serveSite(t, filepath.Join(os.Getenv("ROOT"), "bin", "site"))
	b := open(t, host, look{width: 360, height: 800, theme: "light", script: true})
	b.visit(siteBase + "docs/ci.html#kubernetes")
	const selected = `[...document.querySelectorAll("[role=tab][aria-selected=true]")].map(e => e.textContent).join()`
	b.until(selected + ` === "Kubernetes"`)
	b.do(chromedp.SendKeys(chromedp.CSS("[role=tab][aria-selected=true]"), kb.ArrowRight))
	b.until(selected + ` === "Shell"`)
	if shown := eval[int](b, `document.querySelectorAll("[role=tabpanel]:not([hidden])").length`); shown != 1 {
		t.Errorf("%d panels are visible, want 1", shown)
	}
	b.accessible()
}

// TestSiteVersions publishes two releases in the same way as the workflow Pages, and
// changes between versions of a page.
func TestSiteVersions(t *testing.T) {
	t.Parallel()
	root, dir, out := os.Getenv("ROOT"), t.TempDir(), t.TempDir()
	for _, command := range [][]string{
		{"sh", "-c", `cd "$1" && git ls-files -z --cached --others --exclude-standard README.md docs site | xargs -0 cp -p --parents -t "$2"`, "sh", root, dir},
		{"ln", "-s", filepath.Join(root, "site", "node_modules"), "site/node_modules"},
		{"git", "init", "-q"},
		{"git", "add", "-A"},
		{"git", "-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "-q", "-m", "Documentation"},
		{"git", "tag", "v0.1.0"},
		{"git", "tag", "v0.2.0"},
		{"git", "tag", "v0.3.0-rc1"},
		{"site/publish.sh", out, "https://example.com" + siteBase},
	} {
		cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
		cmd.Dir = dir
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", command, err, text)
		}
	}
	_, host := serveSite(t, out)
	b := open(t, host, look{width: 360, height: 800, theme: "dark", script: true})
	b.visit(siteBase + "docs/sync.html")
	const choice = `document.querySelector("header .versions select")`
	b.until(`!!` + choice + `.offsetParent`)
	if names := eval[string](b, `[...`+choice+`.options].map(o => o.value).join() + " " + `+choice+`.value`); names != "v0.2.0,v0.1.0,main v0.2.0" {
		t.Errorf("the version switch contains %s", names)
	}
	b.fits()
	b.accessible()
	eval[bool](b, choice+`.value = "v0.1.0", `+choice+`.dispatchEvent(new Event("change"))`)
	b.until(`location.pathname === "` + siteBase + `v0.1.0/docs/sync.html" && document.body?.dataset.version === "v0.1.0"`)
}

// serveSite serves the documentation site in a directory. It returns the compressed size
// in bytes of each file by its path, and the URL of the host.
func serveSite(t *testing.T, dir string) (files map[string]int, host string) {
	t.Helper()
	files = map[string]int{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var compressed bytes.Buffer
		w := gzip.NewWriter(&compressed)
		_, _ = w.Write(content) // writing to a buffer doesn't fail
		_ = w.Close()
		name, err := filepath.Rel(dir, path)
		files[filepath.ToSlash(name)] = compressed.Len()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.StripPrefix(strings.TrimSuffix(siteBase, "/"), http.FileServer(http.Dir(dir))))
	t.Cleanup(server.Close)
	return files, server.URL
}
