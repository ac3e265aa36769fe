package serve

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	svchost "github.com/hashicorp/terraform-svchost"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/catalog"
	"github.com/tofu-oci/tofu-oci/internal/serve/api"
	"github.com/tofu-oci/tofu-oci/internal/verify"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/module"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// describeModules returns a page of the modules that match the search and that the caller
// can read.
func (s *Server) describeModules(x *exchange) (none api.Modules, err error) {
	matches, number, err := x.search()
	if err != nil {
		return none, err
	}
	var found api.Modules
	var all []api.ModuleRef
	var state cacheState
	add := func(from []template.ModuleTemplate, name svchost.Hostname) {
		for _, t := range from {
			list, listState, failure := s.repos.moduleLists.getWithin(x.r.Context(), t, max(ownerAge, s.options.MaxAge), func(ctx context.Context) ([]catalog.ModuleEntry, error) {
				entries, _, err := catalog.Modules(ctx, t, catalog.Options{Names: s.options.Catalog, Open: s.options.Open})
				return entries, err
			})
			state = state.merge(listState)
			if warning := listingWarning(t.Redacted(), "", failure); warning != "" {
				found.Warnings = append(found.Warnings, warning)
			} else {
				err = cmp.Or(err, failure)
			}
			for _, e := range list {
				if ref, readable := s.moduleRef(x, t, e, name); readable && matches(ref.Address) {
					all = append(all, ref)
				}
			}
		}
	}
	add(s.options.ModulesFrom, "")
	for _, h := range s.publishedHosts() {
		if h.Modules != (template.ModuleTemplate{}) {
			add([]template.ModuleTemplate{h.Modules}, h.Name)
		}
	}
	if err != nil {
		return none, err
	}
	slices.SortStableFunc(all, func(a, b api.ModuleRef) int { return strings.Compare(a.Address, b.Address) })
	all = slices.CompactFunc(all, func(a, b api.ModuleRef) bool { return a.Address == b.Address })
	items, more := pageOf(all, number, providersOnPage)
	found.Modules, found.Total = append([]api.ModuleRef{}, items...), len(all)
	if more {
		found.Next = x.nextPage("/api/v1/modules", number)
	}
	x.setCacheHeaders(state)
	return found, nil
}

// moduleRef describes a module in a list. If name is not empty, it replaces the host.
// If the module has no address, or if the caller can't read it, readable is false.
func (s *Server) moduleRef(x *exchange, t template.ModuleTemplate, e catalog.ModuleEntry, name svchost.Hostname) (ref api.ModuleRef, readable bool) {
	stored := s.repos.unstatedModule(t, e.Reference)
	if e.Address != "" {
		stored, _ = parseModuleAddress(e.Address)
	}
	shown := stored
	if guesses, _ := t.Match(e.Reference); stored == (moduleAddress{}) && len(guesses) == 1 {
		shown = moduleAddress(guesses[0])
	}
	if shown == (moduleAddress{}) || !x.caller.MayReadModule(stored) {
		return ref, false
	}
	shown.Hostname = cmp.Or(string(name), shown.Hostname)
	return api.ModuleRef{Address: shown.String(), Repository: e.Reference.String(), Latest: e.Latest.String(), URL: shown.url(x)}, true
}

// url returns the URL of a module in the API, with additional path elements.
func (a moduleAddress) url(x *exchange, more ...string) string {
	return x.base.String() + "/api/v1/modules" + pathOf(append(strings.Split(a.String(), "/"), more...)...)
}

// shownModule returns the address that users write. For a published host, it differs from
// the address in the repositories.
func (x *exchange) shownModule() moduleAddress {
	shown := x.module.address
	shown.Hostname = cmp.Or(x.r.PathValue("HOST"), shown.Hostname)
	return shown
}

// describeModule returns a page of the versions of a module.
func (s *Server) describeModule(x *exchange) (none api.Module, err error) {
	number, err := x.page()
	if err != nil {
		return none, err
	}
	known, state, err := s.modules(x.r.Context(), x.module)
	if err != nil {
		return none, err
	}
	x.setCacheHeaders(state)
	x.event.Repository = known.repo.String()
	found := api.Module{ModuleRef: x.moduleRef(known), Total: len(known.versions), Installation: x.moduleInstallation(), Stale: state.stale != nil}
	var more bool
	if found.Versions, more = s.describeModuleVersions(x, known, known.versions, number, versionsOnPage); more {
		found.Next = found.URL + "?page=" + strconv.Itoa(number+1)
	}
	if s.seesPending(x) {
		found.Pending, _ = s.describeModuleVersions(x, known, known.pending, 1, maxPending)
		found.Denied, _ = s.describeModuleVersions(x, known, provider.NewestFirst(known.denied), 1, maxPending)
		found.MorePending, found.MoreDenied = len(known.pending)-len(found.Pending), len(known.denied)-len(found.Denied)
	}
	return found, nil
}

// moduleRef returns a reference to the requested module, which includes its URL in the
// API.
func (x *exchange) moduleRef(known moduleListing) api.ModuleRef {
	shown := x.shownModule()
	return api.ModuleRef{Address: shown.String(), Repository: known.repo.String(), Latest: newest(known.versions), URL: shown.url(x)}
}

// moduleInstallation returns the CLI configuration for installing the requested module
// from this server. It is empty for a published host, which requires no configuration.
func (x *exchange) moduleInstallation() string {
	if x.module.as != "" {
		return ""
	}
	host := x.shownModule().Hostname
	return fmt.Sprintf("host %q {\n  services = {\n    \"modules.v1\" = %q\n  }\n}\n", svchost.Hostname(host).ForDisplay(), x.base.String()+"/v1/modules/"+host+"/")
}

// describeModuleVersions returns a page of the versions of a module.
func (s *Server) describeModuleVersions(x *exchange, known moduleListing, all []provider.Version, number, size int) (found []api.ModuleVersion, more bool) {
	items, more := pageOf(all, number, size)
	found = make([]api.ModuleVersion, len(items))
	s.concurrently(x.r.Context(), len(items), func(ctx context.Context, n int) {
		found[n], _, _ = s.describeModuleVersion(ctx, x, known, items[n]) // the result contains the error
	})
	return found, more
}

// describeModuleVersion describes a version. If the caller can't read the version or an
// error prevents reading it, the result contains only the version and the problem.
func (s *Server) describeModuleVersion(ctx context.Context, x *exchange, known moduleListing, v provider.Version) (found api.ModuleVersion, m storedModule, err error) {
	found = api.ModuleVersion{Version: v.String(), Tag: artifact.Tag(v), Status: api.StatusComplete, URL: x.shownModule().url(x, v.String())}
	switch {
	case slices.Contains(known.versions, v):
	case slices.Contains(known.denied, v):
		found.Tag, found.Status = artifact.DeniedTag(v), api.StatusDenied
		return found, m, nil
	default:
		found.Tag, found.Status = artifact.PendingTag(v), api.StatusPending
	}
	m, _, err = s.repos.module(ctx, known.repo, found.Tag, s.repos.indexes.maxAge)
	if err == nil {
		known.stored, err = x.module.ownerOf(m, known.unstated)
	}
	if err = x.module.authorizationError(known.stored, err); err != nil {
		status := api.StatusUnknown
		if _, found.Problem = statusOf(err); isUnreadable(err) {
			status, found.Problem = api.StatusBroken, clip(err.Error(), longText)
		}
		if found.Status == api.StatusComplete {
			found.Status = status
		}
		return found, m, err
	}
	text := func(key string) string { return clip(m.Annotations[key], longText) }
	found.Digest, found.Zip, found.Size = m.digest.String(), m.Zip.Digest.String(), m.Zip.Size
	found.Source, found.Revision, found.Origin = text(ocispec.AnnotationSource), text(ocispec.AnnotationRevision), text(artifact.AnnotationModuleOrigin)
	found.Subdirectory, found.Documents = text(artifact.AnnotationModuleSubdirectory), m.documents()
	if found.Status == api.StatusComplete {
		found.ZipURL = x.base.String() + s.moduleArchivePath(x, v, known.stored)
	}
	return found, m, nil
}

// documents returns the documents in the manifest.
func (m storedModule) documents() (all []api.Document) {
	for _, d := range m.Documents {
		all = append(all, describe(artifact.DocumentOf(d, "")))
	}
	return all
}

// describeModuleRelease describes the requested version with its decisions and
// findings.
func (s *Server) describeModuleRelease(x *exchange) (none api.ModuleRelease, err error) {
	known, state, err := s.modules(x.r.Context(), x.module)
	if err != nil {
		return none, err
	}
	isReleased, v := slices.Contains(known.versions, x.version), x.version
	if !isReleased && (!s.seesPending(x) || !slices.Contains(known.pending, v) && !slices.Contains(known.denied, v)) {
		return none, x.noModuleVersion(known)
	}
	found := api.ModuleRelease{Module: x.moduleRef(known), Installation: x.moduleInstallation(), Stale: state.stale != nil}
	var m storedModule
	if found.ModuleVersion, m, err = s.describeModuleVersion(x.r.Context(), x, known, v); err != nil && !isUnreadable(err) {
		return none, err
	}
	x.setCacheHeaders(state)
	x.event.Repository = known.repo.String()
	switch {
	case !isReleased:
		found.Assessment = s.repos.unreleased(x.r.Context(), key{address: known.address(), version: v}, known.repo, known.address(), found.Status)
		return found, nil
	case err != nil:
		found.Assessment = unverified("the tag does not point to a module")
		return found, nil //nolint:nilerr // the assessment describes the error
	}
	found.Documents = x.withURLs(found.Documents)
	seen, err := s.repos.moduleReport(x.r.Context(), moduleRelease{known, m}, v)
	if found.Problem = seen.problem(); found.Problem != "" {
		found.Status = api.StatusIncomplete
	}
	found.Assessment = x.assessment(seen, err)
	found.Requirement = fmt.Sprintf("module %q {\n  source  = %q\n  version = %q\n}\n", x.module.address.Name, strings.TrimPrefix(found.Module.Address, string(provider.DefaultHost)+"/"), v)
	return found, nil
}

// address returns the address that represents the module's repository.
func (l moduleListing) address() provider.Address {
	return module.Reference{Repository: l.ref}.Release().Address
}

// moduleReport checks a version of a module.
func (rc *repositoryCache) moduleReport(ctx context.Context, found moduleRelease, v provider.Version) (report, error) {
	return rc.check(ctx, key{address: found.address(), version: v, index: found.digest}, found.repo, verify.Options{})
}
