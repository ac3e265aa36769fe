package page

import (
	"time"

	"github.com/tofu-oci/tofu-oci/internal/serve/api"
)

// Lists on the home page. ShowAll lists providers, and the other lists contain
// versions.
const (
	ShowAll     = ""
	ShowRecent  = "recent"
	ShowPending = "pending"
	ShowHeld    = "held"
)

// Home is the content of the home page. It contains only what the caller can read.
type Home struct {
	// Search is the search text, and Show is one of the Show constants.
	Search, Show string
	// Reachable reports whether the registries respond. It is nil if unknown.
	Reachable *bool
	// Sync describes the last run of `tofu-oci sync apply`. It is nil if the server has
	// no result file. If the file can't be read, Finished is zero.
	Sync *Sync
	// SeesPending reports whether the caller can see pending and held-back versions.
	// Pending and Held are the numbers of these versions.
	SeesPending   bool
	Pending, Held int
	// Providers is a page of the providers if Show is ShowAll. Otherwise, Versions is a
	// page of the selected versions. Total is the number of items on all pages.
	Providers []Provided
	Versions  []ListedVersion
	Total     int
	// Recent contains the newest releases for the home page without a search.
	Recent   []ListedVersion
	Warnings []string
}

// Sync is the result of a run of `tofu-oci sync apply`.
type Sync struct {
	Finished time.Time
	// Changed is the number of changes, and Failed is the number of failed actions.
	Changed, Failed int
}

// Provided is a provider in the provider list.
type Provided struct {
	api.ProviderRef
	// Published is the publication date of the newest release, or nil if it is unknown.
	Published *time.Time
	// Pending is the number of pending versions.
	Pending int
}

// ListedVersion is a version of a provider or module in a list.
type ListedVersion struct {
	// Path contains the elements of the page's path. Name is the name without the host.
	Path       []string
	Host, Name string
	Version    string
	Published  *time.Time
	// Reason explains why the version is held back.
	Reason string
}

// Home renders the home page.
func (f Frame) Home(h Home, position Pagination) ([]byte, error) {
	top, search := f.searchHead("Providers", h.Search, position)
	if h.Search = search; h.Show != ShowAll {
		top.Query.Set("show", h.Show)
	}
	return render("home", struct {
		head
		H     Home
		Lists []list
	}{top, h, h.lists()})
}

// list is a link to one of the lists on the home page.
type list struct {
	Show, Name string
	Count      int
}

// lists returns the lists that the caller can select.
func (h Home) lists() []list {
	all := []list{{ShowAll, "All providers", 0}, {ShowRecent, "Recent versions", 0}}
	if h.SeesPending {
		all = append(all, list{ShowPending, "Pending approval", h.Pending})
		if h.Sync != nil {
			all = append(all, list{ShowHeld, "Held back", h.Held})
		}
	}
	return all
}
