package page

import (
	"strings"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/serve/api"
)

// Provider is the content of a provider's page.
type Provider struct {
	api.Provider
	// Lock is the lock file block for the newest version. It is empty if unknown.
	Lock string
	// Waiting contains the pending versions of [api.Provider] with their documents. Held
	// contains the versions that the last run of sync held back.
	Waiting []PendingVersion
	Held    []ListedVersion
}

// PendingVersion is a version that is pending approval.
type PendingVersion struct {
	api.VersionRef
	Documents []api.Document
	// Promote is the command that approves the version.
	Promote string
}

// Kinds returns the kinds of the documents as text, such as "checksums, signature".
func (p PendingVersion) Kinds() string { return kindsOf(p.Documents) }

// Provider renders the page of a provider with its versions.
func (f Frame) Provider(p Provider, position Pagination) ([]byte, error) {
	return render("provider", struct {
		head
		P       Provider
		Use     []tab
		Newest  api.VersionRef
		Pending listPart[PendingVersion]
		Denied  listPart[api.VersionRef]
		Held    listPart[ListedVersion]
	}{
		f.head(p.Namespace+"/"+p.Type, f.ProviderPath(p.ProviderRef), position), p, useProvider(p.ProviderRef, p.Latest, p.Installation, p.Lock), newestOf(p.Provider),
		firstOf(p.Waiting, maxPending).plus(p.MorePending), firstOf(p.Denied, maxPending).plus(p.MoreDenied), firstOf(p.Held, maxEntries),
	})
}

// newestOf returns the newest version of a provider, or the zero value if the version
// is on a different page of the version list.
func newestOf(p api.Provider) api.VersionRef {
	for _, v := range p.Versions {
		if v.Version == p.Latest {
			return v
		}
	}
	return api.VersionRef{}
}

// Module is the content of a module's page. Its fields are defined as in [Provider].
type Module struct {
	api.Module
	Waiting []PendingVersion
	Held    []ListedVersion
}

// Module renders the page of a module with its versions.
func (f Frame) Module(m Module, position Pagination) ([]byte, error) {
	subdirectory := ""
	for _, v := range m.Versions {
		if v.Version == m.Latest {
			subdirectory = v.Subdirectory
		}
	}
	return render("module", struct {
		head
		M       Module
		Use     []tab
		Pending listPart[PendingVersion]
		Denied  listPart[api.ModuleVersion]
		Held    listPart[ListedVersion]
	}{
		f.moduleHead(m.ModuleRef, "", position), m, useModule(m.ModuleRef, m.Latest, subdirectory, m.Installation),
		firstOf(m.Waiting, maxPending).plus(m.MorePending), firstOf(m.Denied, maxPending).plus(m.MoreDenied), firstOf(m.Held, maxEntries),
	})
}

// ModuleVersion is the content of a module version's page.
type ModuleVersion struct {
	api.ModuleRelease
	// Published is the date in the manifest, or nil if the manifest has none.
	Published *time.Time
	// Promote is defined as in [Version].
	Promote string
}

// ModuleVersion renders a module version's page.
func (f Frame) ModuleVersion(v ModuleVersion) ([]byte, error) {
	var use []tab
	if v.Requirement != "" {
		use = useModule(v.Module, v.Version, v.Subdirectory, v.Installation)
	}
	return render("module-version", struct {
		head
		assessed
		V         ModuleVersion
		Use       []tab
		Documents listPart[api.Document]
	}{f.moduleHead(v.Module, " "+v.Version, Pagination{}), assess(v.Assessment, v.Problem), v, use, firstOf(v.Documents, maxEntries)})
}

// moduleHead returns the head of a page about a module.
func (f Frame) moduleHead(m api.ModuleRef, version string, position Pagination) head {
	h := f.head(moduleName(m.Address)+version, f.ModulePath(m), position)
	h.OfModules = true
	return h
}

// moduleName returns the address of a module without its host.
func moduleName(address string) string {
	_, name, _ := strings.Cut(address, "/")
	return name
}

func moduleHost(address string) string {
	host, _, _ := strings.Cut(address, "/")
	return host
}
