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
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
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
				entries, _, err := catalog.Modules(ctx, t, catalog.ModuleOptions{Names: s.options.Catalog, Open: s.options.Open})
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

// moduleRef describes a module in a list. name replaces the host if it is not empty. If
// the module has no address, or if the caller can't read it, readable is false.
func (s *Server) moduleRef(x *exchange, t template.ModuleTemplate, e catalog.ModuleEntry, name svchost.Hostname) (ref api.ModuleRef, readable bool) {
	stored := s.unstatedModule(t, e.Reference)
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

// url returns the URL of a module in the API.
func (a moduleAddress) url(x *exchange) string {
	return x.base.String() + "/api/v1/modules" + pathOf(strings.Split(a.String(), "/")...)
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
	shown := x.module.address
	shown.Hostname = cmp.Or(x.r.PathValue("HOST"), shown.Hostname)
	items, more := pageOf(known.versions, number, versionsOnPage)
	found := api.Module{
		ModuleRef: api.ModuleRef{Address: shown.String(), Repository: known.repo.String(), Latest: newest(known.versions), URL: shown.url(x)},
		Versions:  make([]api.ModuleVersion, len(items)), Total: len(known.versions), Stale: state.stale != nil,
	}
	s.concurrently(x.r.Context(), len(items), func(ctx context.Context, n int) {
		found.Versions[n] = s.describeModuleVersion(ctx, x, known, items[n])
	})
	if s.options.Rules().AllowAll() || x.caller.Name != "" {
		found.Pending = text.Strings(known.pending)
	}
	if more {
		found.Next = shown.url(x) + "?page=" + strconv.Itoa(number+1)
	}
	if x.module.as == "" {
		found.Installation = fmt.Sprintf("host %q {\n  services = {\n    \"modules.v1\" = %q\n  }\n}\n", svchost.Hostname(shown.Hostname).ForDisplay(), x.base.String()+"/v1/modules/"+shown.Hostname+"/")
	}
	return found, nil
}

// describeModuleVersion describes a version. If the caller can't read it, only the
// version and the problem are set.
func (s *Server) describeModuleVersion(ctx context.Context, x *exchange, known moduleListing, v provider.Version) api.ModuleVersion {
	found := api.ModuleVersion{Version: v.String(), Tag: artifact.Tag(v)}
	m, _, err := s.repos.module(ctx, known.repo, found.Tag, s.repos.indexes.maxAge)
	if err == nil {
		known.stored, err = x.module.ownerOf(m, known.unstated)
	}
	if err := x.module.authorizationError(known.stored, err); err != nil {
		_, found.Problem = statusOf(err)
		if isUnreadable(err) {
			found.Problem = clip(err.Error(), longText)
		}
		return found
	}
	text := func(key string) string { return clip(m.Annotations[key], longText) }
	found.Digest, found.Zip, found.Size = m.digest.String(), m.Zip.Digest.String(), m.Zip.Size
	found.Source, found.Revision, found.Origin = text(ocispec.AnnotationSource), text(ocispec.AnnotationRevision), text(artifact.AnnotationModuleOrigin)
	found.Subdirectory = text(artifact.AnnotationModuleSubdirectory)
	for _, d := range m.Documents {
		found.Documents = append(found.Documents, describe(artifact.DocumentOf(d, "")))
	}
	found.URL = x.base.String() + s.moduleArchivePath(x, v, known.stored)
	return found
}
