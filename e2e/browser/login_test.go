//go:build browser

package browser_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/chromedp"
)

// TestLogin checks the pages that users see with and without credentials.
func TestLogin(t *testing.T) {
	t.Parallel()
	const token = "a-token-for-this-test-alone"
	site, err := serve(t.Context(), "guarded", guarded(t, token)...)
	if err != nil {
		t.Fatal(err)
	}
	b := open(t, site, desk)
	// 1. The user cancels the dialog.
	answer := b.whenAsked(fetch.AuthChallengeResponse{Response: fetch.AuthChallengeResponseResponseCancelAuth})
	b.visit("/")
	if out := eval[string](b, `document.querySelector("main").textContent`); !strings.Contains(out, "your token as the password") {
		t.Errorf("unexpected text %q", out)
	}
	b.checkPage()
	for _, trouble := range b.takeProblems() {
		if !strings.Contains(trouble, "401") {
			t.Error(trouble)
		}
	}
	// 2. The user enters credentials.
	answer(fetch.AuthChallengeResponse{Response: fetch.AuthChallengeResponseResponseProvideCredentials, Username: "anybody", Password: token})
	b.follow(`main a[href="/login"]`)
	if who := eval[string](b, `document.querySelector(".who").textContent`); who != "Logged in as desk" {
		t.Errorf("unexpected text %q", who)
	}
	b.do(chromedp.SendKeys(chromedp.CSS("#q"), "a"))
	b.until(shown + ` === "1 provider for a"`)
	b.follow("#results tbody a")
	b.follow(`a[href$="/` + newest + `"]`)
	b.checkPage()
	b.downloadsSBOM(sbomLink)
}

// whenAsked responds to the browser's authentication prompt. The returned function
// changes the response to later prompts.
func (b *tab) whenAsked(first fetch.AuthChallengeResponse) (then func(fetch.AuthChallengeResponse)) {
	b.Helper()
	var answer atomic.Pointer[fetch.AuthChallengeResponse]
	answer.Store(&first)
	err := chromedp.Listen(b.ctx, func(event any) {
		switch e := event.(type) { // the event handler must not wait for later events
		case *fetch.EventRequestPaused:
			go func() {
				_, _ = chromedp.Call(b.ctx, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: e.RequestID})
			}()
		case *fetch.EventAuthRequired:
			go func() {
				_, _ = chromedp.Call(b.ctx, fetch.ContinueWithAuth, fetch.ContinueWithAuthParams{RequestID: e.RequestID, AuthChallengeResponse: answer.Load()})
			}()
		}
	})
	b.check("listening to dialogs", err)
	handle := true
	_, err = chromedp.Call(b.ctx, fetch.Enable, fetch.EnableParams{HandleAuthRequests: &handle})
	b.check("answering dialogs", err)
	return func(a fetch.AuthChallengeResponse) { answer.Store(&a) }
}
