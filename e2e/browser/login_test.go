//go:build browser

package browser_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/chromedp"
)

// TestLogin: without a login there is a page that says what to do, and with one there is
// what it allows.
func TestLogin(t *testing.T) {
	t.Parallel()
	const token = "a-token-for-this-test-alone"
	site, err := serve(t.Context(), "guarded", guarded(t, token)...)
	if err != nil {
		t.Fatal(err)
	}
	b := open(t, site, desk)
	// 1. Somebody who leaves the dialog.
	answer := b.whenAsked(fetch.AuthChallengeResponse{Response: fetch.AuthChallengeResponseResponseCancelAuth})
	b.visit("/")
	if said := eval[string](b, `document.querySelector("main").textContent`); !strings.Contains(said, "your token as the password") {
		t.Errorf("it says %q", said)
	}
	b.good()
	for _, trouble := range b.forget() {
		if !strings.Contains(trouble, "401") {
			t.Error(trouble)
		}
	}
	// 2. Somebody who fills it in.
	answer(fetch.AuthChallengeResponse{Response: fetch.AuthChallengeResponseResponseProvideCredentials, Username: "anybody", Password: token})
	b.follow(`main a[href="/login"]`)
	if who := eval[string](b, `document.querySelector(".who").textContent`); who != "Logged in as desk" {
		t.Errorf("it says %q", who)
	}
	b.do(chromedp.SendKeys(chromedp.CSS("#q"), "a"))
	b.until(shown + ` === "1 provider for a"`)
	b.follow("#results li a")
	b.follow(`a[href$="/` + newest + `"]`)
	b.good()
	b.follow(`a[href*="/components/"]`)
	b.downloadsSBOM(`a[download]`)
}

// whenAsked answers the dialog for a login, and gives what changes the answer.
func (b *tab) whenAsked(first fetch.AuthChallengeResponse) (then func(fetch.AuthChallengeResponse)) {
	b.Helper()
	var answer atomic.Pointer[fetch.AuthChallengeResponse]
	answer.Store(&first)
	err := chromedp.Listen(b.ctx, func(event any) {
		switch e := event.(type) { // what listens must not wait for what it asks for
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
