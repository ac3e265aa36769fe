package page

import (
	"bytes"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/tofu-oci/tofu-oci/internal/serve/api"
)

// MediaType is that of all pages.
const MediaType = "text/html; charset=utf-8"

// Policy is the Content-Security-Policy of all pages: what they need is at the same
// server, they need little, nobody puts them into a frame, and no script of theirs
// makes markup of text.
const Policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// MaxSearch bounds what is searched for, in bytes.
const MaxSearch = 200

// Frame is what all pages of an answer have in common.
type Frame struct {
	// Root is the path of the server at its host, without a slash at its end: "" or
	// "/tofu".
	Root string
	// Caller is the name of who is logged in; empty for nobody.
	Caller string
	// Login tells that who logs in may see more.
	Login bool
}

// Place is where in a list a page is. The zero value is all of it.
type Pagination struct {
	// Page counts from 1, to Pages.
	Page, Pages int
}

// parsed are the templates. They are read once, by the first page.
var parsed = sync.OnceValues(func() (*template.Template, error) {
	return template.New("").Funcs(template.FuncMap{
		"tiny": func(s string) string { return Visible(s, limitTiny) },
		"word": func(s string) string { return Visible(s, limitWord) },
		"line": func(s string) string { return Visible(s, limitLine) },
		"text": func(s string) string { return Visible(s, limitText) },
		"size": formatSize, "date": date, "moment": timestamp, "count": count, "platforms": platforms,
		"kind": kind, "state": state, "severity": severity, "fits": fits, "address": address,
		"list": func(all ...any) []any { return all },
	}).ParseFS(files, "templates/*.html")
})

// head is what the frame of a page shows; the templates know its fields and methods.
type head struct {
	Frame
	Pagination
	Title string
	// Query is what stands before page=2 in links to other pages of a list.
	Query url.Values
}

// Asset returns the path of an asset.
func (h head) Asset(name string) string { return h.Link("static", Hash(), name) }

// Link returns the path of what lies below the server.
func (f Frame) Link(words ...string) string {
	for i, word := range words {
		words[i] = url.PathEscape(word)
	}
	return f.Root + "/" + strings.Join(words, "/")
}

// Of returns the path of a provider's page, or of what lies below it.
func (f Frame) ProviderPath(p api.ProviderRef, below ...string) string {
	return f.Link(append([]string{"providers", p.Host, p.Namespace, p.Type}, below...)...)
}

// Turn returns the link to another page of a list.
func (h head) PageLink(page int) string {
	query := url.Values{}
	maps.Copy(query, h.Query)
	query.Set("page", strconv.Itoa(page))
	return "?" + query.Encode()
}

// address returns the path of a URL of the server: links stay at the host that is shown.
func address(text string) string {
	u, err := url.Parse(text)
	if err != nil || len(text) > maxURL || !strings.HasPrefix(u.Path, "/") || strings.HasPrefix(u.Path, "//") {
		return ""
	}
	return u.EscapedPath()
}

// Next and Previous count pages.
func (h head) Next() int     { return h.Page + 1 }
func (h head) Previous() int { return h.Page - 1 }

// render makes the page of a template, all or nothing.
func render(name string, data any) ([]byte, error) {
	templates, err := parsed()
	if err != nil {
		return nil, fmt.Errorf("reading the pages: %w", err)
	}
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name, data); err != nil {
		return nil, fmt.Errorf("writing a page: %w", err)
	}
	return b.Bytes(), nil
}

// Providers is the first page: what there is, and what is found of it.
func (f Frame) Providers(search string, p api.Providers, at Pagination) ([]byte, error) {
	title, query := "Providers", url.Values{}
	search = strings.ToValidUTF8(search[:min(len(search), MaxSearch)], "")
	if search != "" {
		title = Visible(search, limitWord) + " – Providers"
		query.Set("search", search)
	}
	return render("providers", struct {
		head
		Search string
		P      api.Providers
	}{head{f, at, title, query}, search, p})
}

// Provider is the page of a provider with its versions.
func (f Frame) Provider(p api.Provider, at Pagination) ([]byte, error) {
	return render("provider", struct {
		head
		P       api.Provider
		Pending listPart[api.VersionRef]
	}{head{f, at, Visible(p.Namespace+"/"+p.Type, limitLine), nil}, p, firstOf(p.Pending, maxPending).plus(p.MorePending)})
}

// Problem is the page in the place of what was asked for.
func (f Frame) Problem(status int, text string) ([]byte, error) {
	return render("problem", struct {
		head
		Status int
		Text   string
	}{head{f, Pagination{}, http.StatusText(status), nil}, status, text})
}
