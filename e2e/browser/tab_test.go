//go:build browser

package browser_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// look is the configuration of a screen.
type look struct {
	width, height int64
	// scale is the device pixel ratio. The value 0 means 1.
	scale  float64
	theme  string
	script bool
}

func (l look) String() string {
	if !l.script {
		return fmt.Sprintf("%d %s without scripts", l.width, l.theme)
	}
	return fmt.Sprintf("%d %s", l.width, l.theme)
}

// Phone, tablet, and desktop screens.
var (
	phone  = look{width: 360, height: 800, theme: "light", script: true}
	tablet = look{width: 768, height: 1024, theme: "light", script: true}
	desk   = look{width: 1280, height: 900, theme: "light", script: true}
)

func (l look) in(theme string) look {
	l.theme = theme
	return l
}

func (l look) withoutScript() look {
	l.script = false
	return l
}

// tab is a separate browser that shows one page. At the end, the test fails if the page
// sent requests to third-party sites or reported problems.
type tab struct {
	testing.TB
	ctx  context.Context //nolint:containedctx // chromedp represents the browser as a context
	site string
	// downloads is the download directory.
	downloads string

	mu       sync.Mutex
	problems []string
}

// open starts a browser with an empty profile. The browser can reach only the site.
func open(tb testing.TB, site string, l look) *tab {
	tb.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.IgnoreCertErrors, chromedp.UserDataDir(tb.TempDir()),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("hide-scrollbars", true),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1"),
	)
	allocated, stop := chromedp.NewExecAllocator(tb.Context(), options...)
	tb.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(allocated)
	tb.Cleanup(cancel)
	b := &tab{TB: tb, ctx: ctx, site: site, downloads: tb.TempDir()}
	if err := chromedp.Listen(ctx, b.record); err != nil {
		tb.Fatal(err)
	}
	b.see(l)
	allow(b, "clipboard-read", "clipboard-write")
	yes := true
	_, err := chromedp.CallBrowser(ctx, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
		Behavior: browser.SetDownloadBehaviorBehaviorAllow, DownloadPath: b.downloads, EventsEnabled: &yes,
	})
	b.check("allowing downloads", err)
	tb.Cleanup(b.complain)
	return b
}

// allow grants permissions to the page.
func allow(b *tab, permissions ...string) {
	b.Helper()
	for _, name := range permissions {
		_, err := chromedp.CallBrowser(b.ctx, browser.SetPermission, browser.SetPermissionParams{
			Permission: &browser.PermissionDescriptor{Name: name}, Setting: browser.PermissionSettingGranted, Origin: b.site,
		})
		b.check("allowing "+name, err)
	}
}

// see applies a screen configuration.
func (b *tab) see(l look) {
	b.Helper()
	var options []chromedp.EmulateViewportOption
	if l.width == phone.width {
		options = append(options, chromedp.EmulateMobile, chromedp.EmulatePortrait)
	}
	if l.scale != 0 {
		options = append(options, chromedp.EmulateScale(l.scale))
	}
	b.do(chromedp.EmulateViewport(l.width, l.height, options...))
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: l.theme}},
	})
	b.check("choosing a theme", err)
	_, err = chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !l.script})
	b.check("choosing scripts", err)
	_, err = chromedp.Call(b.ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	b.check("focusing the tab", err)
}

// record records requests to third-party sites and reported problems. If any records
// remain at the end, the test fails.
func (b *tab) record(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, b.site+"/") {
			b.problems = append(b.problems, "it asks for "+e.Request.URL)
		}
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			b.problems = append(b.problems, fmt.Sprintf("the console has %s %v", e.Type, e.Args))
		}
	case *runtime.EventExceptionThrown:
		b.problems = append(b.problems, fmt.Sprintf("an exception: %s %+v", e.ExceptionDetails.Text, e.ExceptionDetails.Exception))
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			b.problems = append(b.problems, fmt.Sprintf("the log has %s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL))
		}
	}
}

// takeProblems removes and returns the recorded problems. Tests call it when they expect
// problems.
func (b *tab) takeProblems() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	problems := b.problems
	b.problems = nil
	return problems
}

func (b *tab) complain() {
	for _, trouble := range b.takeProblems() {
		b.Error(trouble)
	}
}

func (b *tab) check(doing string, err error) {
	b.Helper()
	if err != nil {
		b.Fatalf("%s: %v", doing, err)
	}
}

// do runs steps. If a step fails, the test fails.
func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	for i, step := range steps {
		if err := chromedp.Do(b.ctx, step); err != nil {
			b.Fatalf("step %d at %s: %v", i+1, b.location(), err)
		}
	}
}

// visit opens a page of the site.
func (b *tab) visit(path string) {
	b.Helper()
	b.do(chromedp.Navigate(b.site + path))
}

// follow clicks an element that opens a new page, and waits until the new page has
// loaded.
func (b *tab) follow(selector string) {
	b.Helper()
	if _, err := chromedp.RunResponse(b.ctx, chromedp.Click(chromedp.CSS(selector))); err != nil {
		b.Fatalf("following %s at %s: %v", selector, b.location(), err)
	}
}

// location returns the path of the current page.
func (b *tab) location() string {
	at, err := chromedp.Run(b.ctx, chromedp.Location())
	if err != nil {
		return "?"
	}
	u, err := url.Parse(at)
	if err != nil {
		return at
	}
	return u.RequestURI()
}

// eval evaluates an expression in the page and returns its value.
func eval[T any](b *tab, expression string) T {
	b.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.Fatalf("%s at %s: %v", strings.TrimSpace(expression), b.location(), err)
	}
	return value
}

// until waits until an expression becomes true in the page.
func (b *tab) until(expression string) {
	b.Helper()
	for {
		_, err := chromedp.Run(b.ctx, chromedp.Poll[bool](expression, chromedp.WithPollingTimeout(0)))
		if err == nil {
			return
		}
		// A navigation destroys the context in which the expression is evaluated.
		if b.ctx.Err() == nil && (strings.Contains(err.Error(), "Cannot find context") || strings.Contains(err.Error(), "Inspected target navigated")) {
			continue
		}
		b.Fatalf("waiting for %s at %s: %v", expression, b.location(), err)
	}
}
