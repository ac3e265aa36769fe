package page

import (
	"net/url"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/serve/api"
	"github.com/tofu-oci/tofu-oci/pkg/finding"
)

const (
	// packagesPerPage is large enough to show most releases on one page.
	packagesPerPage = 14
	// componentsPerPage is the number of components on a page.
	componentsPerPage = 50
	// maxDocuments limits the documents per package, maxPending limits the pending
	// releases, and maxEntries limits all other lists. The JSON responses are complete.
	maxDocuments, maxPending, maxEntries = 3, 20, 5
	// maxURL limits the size of a link in bytes. A link contains two names and a token.
	maxURL = 1 << 10
	// maxBlock limits the size of a code block in bytes.
	maxBlock = 4 << 10
)

// fits reports whether a page can contain a code block. The block must be short and
// contain no characters that Visible would replace.
func fits(block string) bool {
	lines := strings.Split(block, "\n")
	return block != "" && cost(block) <= maxBlock && !slices.ContainsFunc(lines, func(line string) bool { return Visible(line, maxBlock) != line })
}

// pageOf returns a page of a list and the page's position. If the page number is too
// large, it returns the last page.
func pageOf[T any](all []T, page, size int) ([]T, Pagination) {
	pages := max(1, (len(all)+size-1)/size)
	page = min(max(page, 1), pages)
	return all[(page-1)*size : min(page*size, len(all))], Pagination{page, pages}
}

// listPart is the start of a list together with the number of remaining items.
type listPart[T any] struct {
	Shown []T
	More  int
}

func firstOf[T any](all []T, n int) listPart[T] {
	n = min(n, len(all))
	return listPart[T]{all[:n], len(all) - n}
}

// lastOf is like firstOf, but returns the end of the list.
func lastOf[T any](all []T, n int) listPart[T] {
	n = min(n, len(all))
	return listPart[T]{all[len(all)-n:], len(all) - n}
}

// plus increases the number of remaining items.
func (s listPart[T]) plus(more int) listPart[T] {
	s.More += more
	return s
}

// Version renders a release's page. page is the page number in the list of packages,
// starting at 1.
func (f Frame) Version(v api.Version, page int) ([]byte, error) {
	packages, position := pageOf(v.Packages, page, packagesPerPage)
	var shown []shownPackage
	for _, p := range packages {
		shown = append(shown, shownPackage{p, firstOf(p.Documents, maxDocuments)})
	}
	verdict := api.Verdict{}
	if v.Verdict != nil {
		verdict = *v.Verdict
	}
	return render("version", struct {
		head
		V                   api.Version
		Packages            []shownPackage
		Evidence, Referrers listPart[api.Document]
		Decisions           listPart[api.Decision]
		Findings            listPart[finding.Finding]
		Keys, Warnings      listPart[string]
	}{
		head{f, position, Visible(v.Provider.Namespace+"/"+v.Provider.Type+" "+v.Version, limitLine), nil},
		v, shown,
		firstOf(v.Evidence, maxEntries), firstOf(v.Referrers, maxEntries), lastOf(v.Decisions, maxEntries), firstOf(v.Findings, maxEntries).plus(v.MoreFindings),
		firstOf(verdict.Keys, maxEntries), firstOf(verdict.Warnings, maxEntries),
	})
}

// shownPackage is a package together with the documents that fit on the page.
type shownPackage struct {
	api.Package
	Documents listPart[api.Document]
}

// Components renders an SBOM's page. page starts at 1.
func (f Frame) Components(v api.Version, d api.Document, s api.SBOM, page int) ([]byte, error) {
	components, position := pageOf(s.Components, page, componentsPerPage)
	return render("components", struct {
		head
		V          api.Version
		D          api.Document
		Format     string
		Total      int
		Components []api.Component
	}{
		head{f, position, Visible(d.Name, limitLine), url.Values{}},
		v, d, s.Format, len(s.Components), slices.Clip(components),
	})
}
