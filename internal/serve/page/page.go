package page

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/serve/api"
)

// MediaType is the media type of all pages.
const MediaType = "text/html; charset=utf-8"

// Policy is the Content-Security-Policy of all pages. It allows resources only from the
// same server, forbids framing, and prevents scripts from parsing text as HTML.
const Policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// MaxSearch limits the length of a search text in bytes.
const MaxSearch = 200

// Frame contains the data that all pages need.
type Frame struct {
	// Site is the title of the server. If empty, "tofu-oci" is used.
	Site string
	// Root is the server's path without a trailing slash: "" or "/tofu".
	Root string
	// Caller is the caller's name. It is empty if the request has no token.
	Caller string
	// Login reports whether the server has access rules.
	Login bool
	// Modules reports whether the server serves modules.
	Modules bool
	// Now is the time of the request. Pages show recent times relative to it.
	Now time.Time
}

// Pagination is a page's position in a list. The zero value is used for complete lists.
type Pagination struct {
	// Page is the number of the page, starting at 1. Pages is the total number of
	// pages.
	Page, Pages int
}

// parsed returns the templates. The templates are parsed when the first page is
// rendered.
var parsed = sync.OnceValues(func() (*template.Template, error) {
	return template.New("").Funcs(template.FuncMap{
		"tiny": func(s string) string { return Visible(s, limitTiny) },
		"word": func(s string) string { return Visible(s, limitWord) },
		"line": func(s string) string { return Visible(s, limitLine) },
		"text": func(s string) string { return Visible(s, limitText) },
		"size": formatSize, "date": date, "moment": timestamp, "count": count, "platforms": platforms,
		"kind": kind, "state": state, "label": label, "severity": severity, "fits": fits, "address": address,
		"pieces": pieces, "head": hashHead, "tail": hashTail, "path": moduleName, "host": moduleHost, "signature": signature, "verdict": verdict,
		"list": func(all ...any) []any { return all },
	}).ParseFS(files, "templates/*.html")
})

// head contains the data for a page's frame. The templates use its fields and methods.
type head struct {
	Frame
	Pagination
	Title string
	// Query contains the query parameters, except the page number, for links to a
	// list's other pages.
	Query url.Values
	// OfModules reports whether the page is about modules. If so, the search finds
	// modules instead of providers.
	OfModules bool
	// Base is the path of the provider, module, or version that the page describes.
	Base string
}

// Below returns the path of a page below Base.
func (h head) Below(elements ...string) string { return h.Base + Frame{}.Link(elements...) }

// Name returns the title of the server. The default is "tofu-oci".
func (f Frame) Name() string { return cmp.Or(f.Site, "tofu-oci") }

// SearchText returns the current search text.
func (h head) SearchText() string { return h.Query.Get("search") }

// Ago returns how long ago a time was, such as "3 hours ago". For times in the future
// and times that are more than a month ago, it returns the date.
func (f Frame) Ago(t time.Time) string {
	const day = 24 * time.Hour
	age := f.Now.Sub(t)
	switch {
	case f.Now.IsZero() || age < 0 || age > 31*day:
		return date(t)
	case age >= day:
		return count(int(age/day), "day") + " ago"
	case age >= time.Hour:
		return count(int(age/time.Hour), "hour") + " ago"
	case age >= time.Minute:
		return count(int(age/time.Minute), "minute") + " ago"
	}
	return "just now"
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

// Path joins elements, such as [ListedVersion.Path], to the path of a page.
func (f Frame) Path(elements []string) string { return f.Link(slices.Clone(elements)...) }

// ProviderPath returns the path of a provider's page, or of a page below the provider's
// page.
func (f Frame) ProviderPath(p api.ProviderRef, below ...string) string {
	return f.Link(append([]string{"providers", p.Host, p.Namespace, p.Type}, below...)...)
}

// ModulePath returns the path of a module's page, preceded by the given elements.
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

// render renders a template. If an error occurs, it returns no partial page.
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

// ModuleList renders the page that lists the modules that match a search.
func (f Frame) ModuleList(search string, m api.Modules, position Pagination) ([]byte, error) {
	h, search := f.searchHead("Modules", search, position)
	h.OfModules = true
	return render("modules", struct {
		head
		Search string
		M      api.Modules
	}{h, search, m})
}

// searchHead returns the head of a searchable list page, and the truncated search text.
func (f Frame) searchHead(title, search string, position Pagination) (head, string) {
	query := url.Values{}
	search = strings.ToValidUTF8(search[:min(len(search), MaxSearch)], "")
	if search != "" {
		title = Visible(search, limitWord) + " – " + title
		query.Set("search", search)
	}
	return head{Frame: f, Pagination: position, Title: title, Query: query}, search
}

// head returns the head of a page. base is the path of the provider, module, or version
// that the page describes.
func (f Frame) head(title, base string, position Pagination) head {
	return head{Frame: f, Pagination: position, Title: Visible(title, limitLine), Base: base}
}

// Problem renders an error page.
func (f Frame) Problem(status int, text string) ([]byte, error) {
	return render("problem", struct {
		head
		Status int
		Text   string
	}{f.head(http.StatusText(status), "", Pagination{}), status, text})
}
