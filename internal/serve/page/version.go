package page

import (
	"net/url"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/serve/api"
	"github.com/tofu-oci/tofu-oci/pkg/finding"
)

const (
	// packagesAPage lets most releases be shown at once.
	packagesPerPage = 14
	// componentsAPage is a list that can be looked over.
	componentsPerPage = 50
	// maxDocuments are shown of a package, maxPending of what waits for approval, and
	// maxEntries of other lists; the JSON has all.
	maxDocuments, maxPending, maxEntries = 3, 20, 5
	// maxURL is that of a link, in bytes: two names and a token.
	maxURL = 1 << 10
	// maxBlock is the size up to which a page has a block to copy, in bytes.
	maxBlock = 4 << 10
)

// fits reports whether a page has a block: it is small enough, and shows all that is
// copied.
func fits(block string) bool {
	lines := strings.Split(block, "\n")
	return block != "" && cost(block) <= maxBlock && !slices.ContainsFunc(lines, func(line string) bool { return Visible(line, maxBlock) != line })
}

// part returns a page of a list, and where it is. A page that there is not is the last.
func pageOf[T any](all []T, page, size int) ([]T, Pagination) {
	pages := max(1, (len(all)+size-1)/size)
	page = min(max(page, 1), pages)
	return all[(page-1)*size : min(page*size, len(all))], Pagination{page, pages}
}

// some is the beginning of a list, and how many more there are.
type listPart[T any] struct {
	Shown []T
	More  int
}

func firstOf[T any](all []T, n int) listPart[T] {
	n = min(n, len(all))
	return listPart[T]{all[:n], len(all) - n}
}

// and adds to what is left out.
func (s listPart[T]) plus(more int) listPart[T] {
	s.More += more
	return s
}

// Version is the page of a release. The parameter page counts the pages of its
// packages, from 1.
func (f Frame) Version(v api.Version, page int) ([]byte, error) {
	packages, at := pageOf(v.Packages, page, packagesPerPage)
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
		Findings            listPart[finding.Finding]
		Keys, Warnings      listPart[string]
	}{
		head{f, at, Visible(v.Provider.Namespace+"/"+v.Provider.Type+" "+v.Version, limitLine), nil},
		v, shown,
		firstOf(v.Evidence, maxEntries), firstOf(v.Referrers, maxEntries), firstOf(v.Findings, maxEntries).plus(v.MoreFindings),
		firstOf(verdict.Keys, maxEntries), firstOf(verdict.Warnings, maxEntries),
	})
}

// shownPackage is a package with the documents that have their place on a page.
type shownPackage struct {
	api.Package
	Documents listPart[api.Document]
}

// Components is the page of an SBOM. The parameter page counts from 1.
func (f Frame) Components(v api.Version, d api.Document, s api.SBOM, page int) ([]byte, error) {
	components, at := pageOf(s.Components, page, componentsPerPage)
	return render("components", struct {
		head
		V          api.Version
		D          api.Document
		Format     string
		Total      int
		Components []api.Component
	}{
		head{f, at, Visible(d.Name, limitLine), url.Values{}},
		v, d, s.Format, len(s.Components), slices.Clip(components),
	})
}
