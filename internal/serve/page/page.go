package page

import (
	"bytes"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tofu-oci/tofu-oci/internal/serve/api"
)

// MediaType is the media type of all pages.
const MediaType = "text/html; charset=utf-8"

// Policy is the Content-Security-Policy of all pages. It allows resources only from the
// same server, forbids framing, and prevents scripts from parsing text as HTML.
const Policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// MaxSearch limits a search in bytes.
const MaxSearch = 200

// Frame contains the properties that all pages of a response share.
type Frame struct {
	// Root is the server's path without a trailing slash: "" or "/tofu".
	Root string
	// Caller is the caller's name. It is empty if the request has no token.
	Caller string
	// Login reports whether the server has access rules.
	Login bool
	// Modules reports whether the server serves modules.
	Modules bool
}

// Pagination is a page's position in a list. The zero value is used for complete lists.
type Pagination struct {
	// Page is the number of the page, starting at 1. Pages is the number of all pages.
	Page, Pages int
}

// parsed returns the templates. They are parsed when the first page is rendered.
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

// head contains the data for a page's frame. The templates use its fields and methods.
type head struct {
	Frame
	Pagination
	Title string
	// Query contains the remaining query parameters for links to a list's other pages.
	Query url.Values
}

// Asset returns the path of an asset.
func (h head) Asset(name string) string { return h.Link("static", Hash(), name) }

// Link returns the path of a resource on the server.
func (f Frame) Link(elements ...string) string {
	for i, element := range elements {
		elements[i] = url.PathEscape(element)
	}
	return f.Root + "/" + strings.Join(elements, "/")
}

// ProviderPath returns the path of a provider's page, or of a page below the provider's
// page.
func (f Frame) ProviderPath(p api.ProviderRef, below ...string) string {
	return f.Link(append([]string{"providers", p.Host, p.Namespace, p.Type}, below...)...)
}

// ModulePath returns the path of a module's page, with elements before it.
func (f Frame) ModulePath(m api.ModuleRef, before ...string) string {
	return f.Link(slices.Concat(before, []string{"modules"}, strings.Split(m.Address, "/"))...)
}

// PageLink returns the link to the given page of a list.
func (h head) PageLink(page int) string {
	query := url.Values{}
	maps.Copy(query, h.Query)
	query.Set("page", strconv.Itoa(page))
	return "?" + query.Encode()
}

// address returns only the path of a server URL, so that links work for every host name
// of the server.
func address(text string) string {
	u, err := url.Parse(text)
	if err != nil || len(text) > maxURL || !strings.HasPrefix(u.Path, "/") || strings.HasPrefix(u.Path, "//") {
		return ""
	}
	return u.EscapedPath()
}

// Next and Previous are the numbers of the adjacent pages.
func (h head) Next() int     { return h.Page + 1 }
func (h head) Previous() int { return h.Page - 1 }

// render renders a complete template, or returns an error.
func render(name string, data any) ([]byte, error) {
	templates, err := parsed()
	if err != nil {
		return nil, fmt.Errorf("parsing the page templates: %w", err)
	}
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name, data); err != nil {
		return nil, fmt.Errorf("rendering a page: %w", err)
	}
	return b.Bytes(), nil
}

// Providers renders the first page, which lists the providers that match a search.
func (f Frame) Providers(search string, p api.Providers, position Pagination) ([]byte, error) {
	h, search := f.searchHead("Providers", search, position)
	return render("providers", struct {
		head
		Search string
		P      api.Providers
	}{h, search, p})
}

// ModuleList renders the page that lists the modules that match a search.
func (f Frame) ModuleList(search string, m api.Modules, position Pagination) ([]byte, error) {
	h, search := f.searchHead("Modules", search, position)
	return render("modules", struct {
		head
		Search string
		M      api.Modules
	}{h, search, m})
}

// Module renders the page of a module with its versions.
func (f Frame) Module(m api.Module, position Pagination) ([]byte, error) {
	return render("module", struct {
		head
		M       api.Module
		Pending listPart[string]
	}{head{f, position, Visible(m.Address, limitLine), nil}, m, firstOf(m.Pending, maxPending)})
}

// searchHead returns the head of a searchable list page, and the truncated search text.
func (f Frame) searchHead(title, search string, position Pagination) (head, string) {
	query := url.Values{}
	search = strings.ToValidUTF8(search[:min(len(search), MaxSearch)], "")
	if search != "" {
		title = Visible(search, limitWord) + " – " + title
		query.Set("search", search)
	}
	return head{f, position, title, query}, search
}

// Provider renders the page of a provider with its versions.
func (f Frame) Provider(p api.Provider, position Pagination) ([]byte, error) {
	return render("provider", struct {
		head
		P       api.Provider
		Pending listPart[api.VersionRef]
		Denied  listPart[api.VersionRef]
	}{
		head{f, position, Visible(p.Namespace+"/"+p.Type, limitLine), nil}, p,
		firstOf(p.Pending, maxPending).plus(p.MorePending), firstOf(p.Denied, maxPending).plus(p.MoreDenied),
	})
}

// Problem renders an error page.
func (f Frame) Problem(status int, text string) ([]byte, error) {
	return render("problem", struct {
		head
		Status int
		Text   string
	}{head{f, Pagination{}, http.StatusText(status), nil}, status, text})
}
