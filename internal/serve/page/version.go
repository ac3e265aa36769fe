package page

import (
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/description"
	"github.com/tofu-oci/tofu-oci/internal/finding"
	"github.com/tofu-oci/tofu-oci/internal/serve/api"
)

const (
	// packagesPerPage is large enough to show most releases on one page.
	packagesPerPage = 14
	// maxDocuments is the maximum number of documents per package, maxPending is the
	// maximum number of pending releases, and maxEntries is the maximum length of every
	// other list. The JSON responses are complete.
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

// plus returns s with a larger number of remaining items.
func (s listPart[T]) plus(more int) listPart[T] {
	s.More += more
	return s
}

// Version is the content of a version's page.
type Version struct {
	api.Version
	// Promote is the command that approves the version. It is set only if the version
	// is pending.
	Promote string
}

// Version renders a release's page. page is the page number in the list of packages,
// starting at 1.
func (f Frame) Version(v Version, page int) ([]byte, error) {
	packages, position := pageOf(v.Packages, page, packagesPerPage)
	var shown []shownPackage
	for _, p := range packages {
		shown = append(shown, shownPackage{p, firstOf(p.Documents, maxDocuments)})
	}
	var use []tab
	if v.Requirement != "" {
		use = useProvider(v.Provider, v.VersionRef.Version, v.Installation, v.Lock)
	}
	return render("version", struct {
		head
		assessed
		V         Version
		Use       []tab
		Packages  []shownPackage
		Documents listPart[api.Document]
	}{
		f.head(v.Provider.Namespace+"/"+v.Provider.Type+" "+v.VersionRef.Version, f.ProviderPath(v.Provider, v.VersionRef.Version), position),
		assess(v.Assessment, v.Problem), v, use, shown, firstOf(v.Documents, maxEntries),
	})
}

// assessed contains the parts of an assessment that fit on a page.
type assessed struct {
	api.Assessment
	// Problem is the version's problem. It is empty if the findings describe the
	// problem.
	Problem           string
	Problems, Remarks listPart[finding.Finding]
	Decisions         listPart[description.Decision]
	Referrers         listPart[api.Document]
}

func assess(a api.Assessment, problem string) assessed {
	problems, remarks := partition(a.Findings)
	if len(problems) > 0 {
		problem = "" // the findings have more details
	}
	return assessed{
		a, problem, firstOf(problems, maxEntries).plus(a.MoreFindings), firstOf(remarks, maxEntries), lastOf(a.Decisions, maxEntries),
		firstOf(a.Referrers, maxEntries),
	}
}

// partition separates errors from other findings.
func partition(all []finding.Finding) (errors, others []finding.Finding) {
	for _, f := range all {
		if f.Severity == finding.Error {
			errors = append(errors, f)
		} else {
			others = append(others, f)
		}
	}
	return errors, others
}

// shownPackage is a package together with the documents that fit on the page.
type shownPackage struct {
	api.Package
	Documents listPart[api.Document]
}
